/* SPDX-License-Identifier: BSD-2-Clause */
/* What UDP carries with segmented sends (UDP_SEGMENT) and coalesced receipt (UDP_GRO): 44 packets a call, each copied
 * once from memory that no cache holds, and out of the received run into such memory. No headers, no checksums, no
 * feedback: what the receiver cannot take is lost. The least that any transport over UDP sockets has to do.
 *     bare_udp recv PORT                    JSON at SIGTERM
 *     bare_udp send HOST PORT SECONDS */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "meter.h"

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif
#ifndef UDP_GRO
#define UDP_GRO 104
#endif

#define PACKET_BYTES 1472 /* fills Ethernet's MTU */
#define PACKETS 44
#define RUN_BYTES (PACKETS * PACKET_BYTES)
#define BATCH 8
#define SLOT_BYTES (65536 + 192)
#define PAUSE_US 100
#define BUFFER_BYTES (8 << 20)

static int fail(const char *what)
{
    fprintf(stderr, "bare_udp: %s: %s\n", what, strerror(errno));
    return 2;
}

/* The next place in the working set for so many bytes. */
static char *place(char *set, size_t *at, size_t bytes)
{
    if (*at + bytes > WORKING_SET_BYTES)
        *at = 0;
    *at += bytes;
    return set + *at - bytes;
}

static int receive(uint16_t port)
{
    static meter account;
    static struct mmsghdr messages[BATCH];
    static struct iovec vectors[BATCH];
    static char slots[BATCH][SLOT_BYTES];
    const int bytes = BUFFER_BYTES;
    const int on = 1;
    const struct timespec pause = {.tv_nsec = PAUSE_US * 1000};
    const struct sockaddr_in name = {.sin_family = AF_INET, .sin_port = htons(port)};
    char *set = meter_working_set();
    size_t at = 0;
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (const struct sockaddr *)&name, sizeof name) != 0)
        return fail("socket");
    setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes);
    setsockopt(fd, IPPROTO_UDP, UDP_GRO, &on, sizeof on);
    prctl(PR_SET_TIMERSLACK, 1ul, 0ul, 0ul, 0ul);
    for (int i = 0; i < BATCH; i++) {
        vectors[i] = (struct iovec){.iov_base = slots[i], .iov_len = SLOT_BYTES};
        messages[i].msg_hdr = (struct msghdr){.msg_iov = &vectors[i], .msg_iovlen = 1};
    }
    while (!meter_stop) {
        int count = recvmmsg(fd, messages, BATCH, MSG_DONTWAIT, NULL);
        for (int i = 0; i < count; i++) {
            memcpy(place(set, &at, messages[i].msg_len), slots[i], messages[i].msg_len);
            meter_add(&account, messages[i].msg_len);
        }
        if (count < BATCH)
            nanosleep(&pause, NULL);
    }
    meter_print(&account);
    return 0;
}

static int send_for(const char *host, uint16_t port, double seconds)
{
    static char staging[RUN_BYTES];
    const int segment = PACKET_BYTES;
    struct sockaddr_in peer = {.sin_family = AF_INET, .sin_port = htons(port)};
    char *set = meter_working_set();
    uint64_t sent = 0;
    size_t at = 0;
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (inet_pton(AF_INET, host, &peer.sin_addr) != 1)
        return fail(host);
    if (fd < 0 || setsockopt(fd, IPPROTO_UDP, UDP_SEGMENT, &segment, sizeof segment) != 0)
        return fail("UDP_SEGMENT");
    for (uint64_t until = meter_now_us() + (uint64_t)(seconds * 1e6); !meter_stop && meter_now_us() < until;) {
        memcpy(staging, place(set, &at, RUN_BYTES), RUN_BYTES);
        ssize_t count = sendto(fd, staging, RUN_BYTES, 0, (const struct sockaddr *)&peer, sizeof peer);
        if (count < 0 && errno != ENOBUFS && errno != EINTR)
            return fail("send");
        sent += count > 0 ? (uint64_t)count : 0;
    }
    printf("{\"bytes\": %" PRIu64 "}\n", sent);
    return 0;
}

int main(int argc, char **argv)
{
    meter_take_signals();
    if (argc == 3 && strcmp(argv[1], "recv") == 0)
        return receive((uint16_t)strtoul(argv[2], NULL, 10));
    if (argc == 5 && strcmp(argv[1], "send") == 0)
        return send_for(argv[2], (uint16_t)strtoul(argv[3], NULL, 10), strtod(argv[4], NULL));
    fprintf(stderr, "usage: bare_udp recv PORT | bare_udp send HOST PORT SECONDS\n");
    return 2;
}
