/* SPDX-License-Identifier: BSD-2-Clause */
/* UDT 4 from memory to memory; usage as tcp_memory. */
#include <arpa/inet.h>
#include <udt/udt.h>
#include <unistd.h>

#include "meter.h"

/* More than any path of the benchmark can hold: UDT shall not be limited by memory. */
static const int window_bytes = 64 << 20;
static const int window_packets = 65536;
static const int poll_ms = 200;

static int fail(const char *what)
{
    fprintf(stderr, "udt_memory: %s: %s\n", what, UDT::getlasterror().getErrorMessage());
    return 2;
}

static UDTSOCKET make_socket()
{
    UDTSOCKET s = UDT::socket(AF_INET, SOCK_STREAM, 0);
    const linger none = {1, 0};
    UDT::setsockopt(s, 0, UDT_FC, &window_packets, sizeof window_packets);
    UDT::setsockopt(s, 0, UDT_SNDBUF, &window_bytes, sizeof window_bytes);
    UDT::setsockopt(s, 0, UDT_RCVBUF, &window_bytes, sizeof window_bytes);
    UDT::setsockopt(s, 0, UDP_SNDBUF, &window_bytes, sizeof window_bytes);
    UDT::setsockopt(s, 0, UDP_RCVBUF, &window_bytes, sizeof window_bytes);
    UDT::setsockopt(s, 0, UDT_RCVTIMEO, &poll_ms, sizeof poll_ms);
    UDT::setsockopt(s, 0, UDT_SNDTIMEO, &poll_ms, sizeof poll_ms);
    UDT::setsockopt(s, 0, UDT_LINGER, &none, sizeof none);
    return s;
}

static sockaddr_in address_of(in_addr host, int port)
{
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr = host;
    return address;
}

static bool only_slow()
{
    int code = UDT::getlasterror().getErrorCode();
    return code == UDT::ERRORINFO::ETIMEOUT || code == UDT::ERRORINFO::EASYNCRCV || code == UDT::ERRORINFO::EASYNCSND;
}

static int receive(int port)
{
    static meter account;
    sockaddr_in here = address_of(in_addr(), port);
    char *set = meter_working_set();
    size_t at = 0;
    UDTSOCKET listener = make_socket();

    if (UDT::bind(listener, reinterpret_cast<sockaddr *>(&here), sizeof here) == UDT::ERROR ||
        UDT::listen(listener, 1) == UDT::ERROR)
        return fail("listen");
    int waiting = UDT::epoll_create();
    UDT::epoll_add_usock(waiting, listener);
    UDTSOCKET peer = UDT::INVALID_SOCK;
    while (!meter_stop && peer == UDT::INVALID_SOCK) {
        std::set<UDTSOCKET> ready;
        if (UDT::epoll_wait(waiting, &ready, NULL, poll_ms) > 0)
            peer = UDT::accept(listener, NULL, NULL);
    }
    while (!meter_stop && peer != UDT::INVALID_SOCK) {
        int count = UDT::recv(peer, set + at, static_cast<int>(WRITE_BYTES), 0);
        if (count > 0) {
            meter_add(&account, static_cast<uint64_t>(count));
            size_t next = at + static_cast<size_t>(count);
            at = next + WRITE_BYTES <= WORKING_SET_BYTES ? next : 0;
        } else if (count == UDT::ERROR && !only_slow()) {
            break;
        }
    }
    meter_print(&account);
    _exit(0); /* its threads would take seconds to end */
}

static int send_for(const char *host, int port, double seconds)
{
    in_addr bytes = {};
    char *set = meter_working_set();
    uint64_t sent = 0;
    UDTSOCKET s = make_socket();

    if (inet_pton(AF_INET, host, &bytes) != 1)
        return fail(host);
    sockaddr_in there = address_of(bytes, port);
    if (UDT::connect(s, reinterpret_cast<sockaddr *>(&there), sizeof there) == UDT::ERROR)
        return fail("connect");
    const uint64_t until = meter_now_us() + static_cast<uint64_t>(seconds * 1e6);
    while (!meter_stop && meter_now_us() < until) {
        int count = UDT::send(s, set + sent % (WORKING_SET_BYTES - WRITE_BYTES), static_cast<int>(WRITE_BYTES), 0);
        if (count == UDT::ERROR && !only_slow())
            return fail("send");
        sent += count > 0 ? static_cast<uint64_t>(count) : 0;
    }
    printf("{\"bytes\": %" PRIu64 "}\n", sent);
    UDT::close(s);
    fflush(stdout);
    _exit(0);
}

int main(int argc, char **argv)
{
    meter_take_signals();
    UDT::startup();
    if (argc == 3 && strcmp(argv[1], "recv") == 0)
        return receive(atoi(argv[2]));
    if (argc == 5 && strcmp(argv[1], "send") == 0)
        return send_for(argv[2], atoi(argv[3]), atof(argv[4]));
    fprintf(stderr, "usage: udt_memory recv PORT | udt_memory send HOST PORT SECONDS\n");
    return 2;
}
