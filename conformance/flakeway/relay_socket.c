/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The packet sockets of the relay. */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/virtio_net.h>
#include <net/if.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "relay.h"

#define SOCKET_BUFFER_BYTES (16 << 20) /* some 7000 full frames: 100 ms at 70,000 packets per second */
#define SEND_PATIENCE_MS 20

#ifndef PACKET_IGNORE_OUTGOING
#define PACKET_IGNORE_OUTGOING 23
#endif

static bool say(const char *option, const char *interface, const char *what)
{
    fprintf(stderr, "flakeway: --%s %s: %s\n", option, interface, what);
    return false;
}

static int set_int(int fd, int level, int name, int value)
{
    return setsockopt(fd, level, name, &value, sizeof value);
}

/* The kernel's limit needs privilege to exceed; without it, the most that is allowed. */
static void set_buffer(int fd, int force, int plain)
{
    if (set_int(fd, SOL_SOCKET, force, SOCKET_BUFFER_BYTES) < 0)
        set_int(fd, SOL_SOCKET, plain, SOCKET_BUFFER_BYTES);
}

/* All frames of the interface, also those for other hosts; not our own; with offloads reported, so that we can do what
 * a network card would have done. */
static bool configure(const relay_socket *s)
{
    const struct packet_mreq promiscuous = {.mr_ifindex = (int)s->index, .mr_type = PACKET_MR_PROMISC};
    set_buffer(s->fd, SO_RCVBUFFORCE, SO_RCVBUF);
    set_buffer(s->fd, SO_SNDBUFFORCE, SO_SNDBUF);
    set_int(s->fd, SOL_PACKET, PACKET_QDISC_BYPASS, 1);
    return set_int(s->fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, 1) == 0 &&
           set_int(s->fd, SOL_PACKET, PACKET_AUXDATA, 1) == 0 && set_int(s->fd, SOL_PACKET, PACKET_VNET_HDR, 1) == 0 &&
           set_int(s->fd, SOL_SOCKET, SO_TIMESTAMPNS, 1) == 0 &&
           setsockopt(s->fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &promiscuous, sizeof promiscuous) == 0;
}

bool relay_socket_open(relay_socket *s, const char *option, const char *interface)
{
    *s = (relay_socket){.name = interface, .index = if_nametoindex(interface)};
    /* Protocol 0: nothing arrives before bind() names the interface. */
    s->fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (s->fd < 0) {
        if (errno == EPERM || errno == EACCES)
            return say(option, interface,
                       "raw packet sockets are not allowed: run as root (or with CAP_NET_RAW, or in \"unshare -Urn\")");
        return say(option, interface, strerror(errno));
    }
    if (s->index == 0)
        return say(option, interface, "no such interface in this network namespace; \"ip link\" lists them");
    const struct sockaddr_ll address = {
        .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL), .sll_ifindex = (int)s->index};
    if (!configure(s) || bind(s->fd, (const struct sockaddr *)&address, sizeof address) < 0)
        return say(option, interface, strerror(errno));
    return true;
}

void relay_socket_close(relay_socket *s)
{
    if (s->fd >= 0) {
        close(s->fd);
        s->fd = -1;
    }
}

bool relay_socket_alive(const relay_socket *s)
{
    return if_nametoindex(s->name) == s->index;
}

void relay_socket_send(relay_socket *s, const void *offload, const uint8_t *frame, size_t length)
{
    static const struct virtio_net_hdr none;
    struct iovec parts[2] = {{.iov_base = (void *)(uintptr_t)(offload ? offload : &none), .iov_len = sizeof none},
                             {.iov_base = (void *)(uintptr_t)frame, .iov_len = length}};
    const struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    for (int attempt = 0; sendmsg(s->fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL) < 0; attempt++) {
        struct pollfd writable = {.fd = s->fd, .events = POLLOUT};
        bool full = errno == EAGAIN || errno == ENOBUFS;
        if (full && attempt == 0) {
            poll(&writable, 1, SEND_PATIENCE_MS);
            continue;
        }
        if (errno == EINTR)
            continue;
        if (errno == EMSGSIZE && s->too_long++ == 0)
            fprintf(stderr,
                    "flakeway: a frame of %zu bytes is longer than %s takes: give both interfaces one MTU, or turn "
                    "segmentation offload off at the sender (ethtool -K IF tso off gso off)\n",
                    length, s->name);
        s->send_failures++;
        return;
    }
}

void relay_socket_count_drops(relay_socket *s)
{
    struct tpacket_stats stats = {0};
    socklen_t length = sizeof stats;
    if (getsockopt(s->fd, SOL_PACKET, PACKET_STATISTICS, &stats, &length) == 0)
        s->kernel_drops += stats.tp_drops;
}
