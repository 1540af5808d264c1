/* SPDX-License-Identifier: BSD-2-Clause */
/* Kernel TCP from memory to memory, the yardstick of the benchmark:
 *     tcp_memory recv PORT                       takes one connection; JSON when it ends or at SIGTERM
 *     tcp_memory send HOST PORT SECONDS [NAME]   writes of 1 MB for so long; NAME = congestion control */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include "meter.h"

static int fail(const char *what)
{
    fprintf(stderr, "tcp_memory: %s: %s\n", what, strerror(errno));
    return 2;
}

static int receive(uint16_t port)
{
    static meter account;
    struct sockaddr_in here = {.sin_family = AF_INET, .sin_port = htons(port)};
    const int yes = 1;
    char *set = meter_working_set();
    size_t at = 0;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (bind(listener, (struct sockaddr *)&here, sizeof here) != 0 || listen(listener, 1) != 0)
        return fail("listen");
    int peer = accept(listener, NULL, NULL);
    while (peer >= 0 && !meter_stop) {
        ssize_t count = recv(peer, set + at, WRITE_BYTES, 0);
        if (count <= 0)
            break;
        meter_add(&account, (uint64_t)count);
        at = at + (size_t)count + WRITE_BYTES <= WORKING_SET_BYTES ? at + (size_t)count : 0;
    }
    meter_print(&account);
    return 0;
}

static int send_for(const char *host, uint16_t port, double seconds, const char *congestion)
{
    struct sockaddr_in there = {.sin_family = AF_INET, .sin_port = htons(port)};
    char *set = meter_working_set();
    uint64_t sent = 0;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (inet_pton(AF_INET, host, &there.sin_addr) != 1)
        return fail(host);
    if (congestion != NULL &&
        setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, congestion, (socklen_t)strlen(congestion)) != 0)
        return fail(congestion);
    if (connect(fd, (struct sockaddr *)&there, sizeof there) != 0)
        return fail("connect");
    const uint64_t until = meter_now_us() + (uint64_t)(seconds * 1e6);
    /* The clock also ends a write that a stalled connection never completes. */
    const struct timeval patience = {.tv_usec = 200000};
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    while (!meter_stop && meter_now_us() < until) {
        ssize_t count = send(fd, set + sent % (WORKING_SET_BYTES - WRITE_BYTES), WRITE_BYTES, MSG_NOSIGNAL);
        if (count < 0 && errno != EAGAIN)
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
        return receive((uint16_t)atoi(argv[2]));
    if ((argc == 5 || argc == 6) && strcmp(argv[1], "send") == 0)
        return send_for(argv[2], (uint16_t)atoi(argv[3]), atof(argv[4]), argc == 6 ? argv[5] : NULL);
    fprintf(stderr, "usage: tcp_memory recv PORT | tcp_memory send HOST PORT SECONDS [CONGESTION]\n");
    return 2;
}
