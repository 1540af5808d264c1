/* SPDX-License-Identifier: BSD-2-Clause */
/* SRT in file mode from memory to memory; usage as tcp_memory. */
#include <arpa/inet.h>
#include <srt/srt.h>
#include <unistd.h>

#include "meter.h"

#define WINDOW_BYTES (64 << 20) /* more than any path of the benchmark can hold: SRT shall not be limited by memory */
#define WINDOW_PACKETS 65536
#define POLL_MS 200

static int fail(const char *what)
{
    fprintf(stderr, "srt_memory: %s: %s\n", what, srt_getlasterror_str());
    return 2;
}

static SRTSOCKET make_socket(void)
{
    const int window_bytes = WINDOW_BYTES, packets = WINDOW_PACKETS, poll_ms = POLL_MS, connect_ms = 15000;
    const SRT_TRANSTYPE file = SRTT_FILE;
    const struct linger none = {.l_onoff = 1, .l_linger = 0};
    SRTSOCKET s = srt_create_socket();
    srt_setsockflag(s, SRTO_TRANSTYPE, &file, sizeof file);
    srt_setsockflag(s, SRTO_FC, &packets, sizeof packets);
    srt_setsockflag(s, SRTO_SNDBUF, &window_bytes, sizeof window_bytes);
    srt_setsockflag(s, SRTO_RCVBUF, &window_bytes, sizeof window_bytes);
    srt_setsockflag(s, SRTO_UDP_SNDBUF, &window_bytes, sizeof window_bytes);
    srt_setsockflag(s, SRTO_UDP_RCVBUF, &window_bytes, sizeof window_bytes);
    srt_setsockflag(s, SRTO_RCVTIMEO, &poll_ms, sizeof poll_ms);
    srt_setsockflag(s, SRTO_SNDTIMEO, &poll_ms, sizeof poll_ms);
    srt_setsockflag(s, SRTO_CONNTIMEO, &connect_ms, sizeof connect_ms);
    srt_setsockflag(s, SRTO_LINGER, &none, sizeof none);
    return s;
}

static int receive(uint16_t port)
{
    static meter account;
    const struct sockaddr_in here = {.sin_family = AF_INET, .sin_port = htons(port)};
    char *set = meter_working_set();
    size_t at = 0;
    SRTSOCKET listener = make_socket(), peer = SRT_INVALID_SOCK;
    if (srt_bind(listener, (const struct sockaddr *)&here, sizeof here) != 0 || srt_listen(listener, 1) != 0)
        return fail("listen");
    while (!meter_stop && (peer = srt_accept(listener, NULL, NULL)) == SRT_INVALID_SOCK)
        if (srt_getlasterror(NULL) != SRT_EASYNCRCV && srt_getlasterror(NULL) != SRT_ETIMEOUT)
            break;
    while (!meter_stop && peer != SRT_INVALID_SOCK) {
        int count = srt_recv(peer, set + at, (int)WRITE_BYTES);
        if (count > 0) {
            meter_add(&account, (uint64_t)count);
            at = at + (size_t)count + WRITE_BYTES <= WORKING_SET_BYTES ? at + (size_t)count : 0;
        } else if (count == 0 || (srt_getlasterror(NULL) != SRT_EASYNCRCV && srt_getlasterror(NULL) != SRT_ETIMEOUT)) {
            break;
        }
    }
    meter_print(&account);
    _exit(0); /* its threads would take seconds to end */
}

static int send_for(const char *host, uint16_t port, double seconds)
{
    struct sockaddr_in there = {.sin_family = AF_INET, .sin_port = htons(port)};
    char *set = meter_working_set();
    uint64_t sent = 0;
    SRTSOCKET s = make_socket();
    if (inet_pton(AF_INET, host, &there.sin_addr) != 1 ||
        srt_connect(s, (const struct sockaddr *)&there, sizeof there) != 0)
        return fail("connect");
    const uint64_t until = meter_now_us() + (uint64_t)(seconds * 1e6);
    while (!meter_stop && meter_now_us() < until) {
        int count = srt_send(s, set + sent % (WORKING_SET_BYTES - WRITE_BYTES), (int)WRITE_BYTES);
        if (count < 0 && srt_getlasterror(NULL) != SRT_EASYNCSND && srt_getlasterror(NULL) != SRT_ETIMEOUT)
            return fail("send");
        sent += count > 0 ? (uint64_t)count : 0;
    }
    printf("{\"bytes\": %" PRIu64 "}\n", sent);
    srt_close(s);
    fflush(stdout);
    _exit(0);
}

int main(int argc, char **argv)
{
    meter_take_signals();
    srt_startup();
    srt_setloglevel(0);
    if (argc == 3 && strcmp(argv[1], "recv") == 0)
        return receive((uint16_t)atoi(argv[2]));
    if (argc == 5 && strcmp(argv[1], "send") == 0)
        return send_for(argv[2], (uint16_t)atoi(argv[3]), atof(argv[4]));
    fprintf(stderr, "usage: srt_memory recv PORT | srt_memory send HOST PORT SECONDS\n");
    return 2;
}
