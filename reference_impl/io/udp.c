/* SPDX-License-Identifier: BSD-2-Clause */
/* NETBLT inside UDP: the packet, unchanged, is the datagram's payload. The passive end has a known UDP port, the
 * active end any free one; answers go to the address and port that a packet was seen to come from. */
#include <errno.h>
#include <netinet/udp.h>
#include <string.h>

#include "io/link_state.h"

#ifndef UDP_GRO
#define UDP_GRO 104 /* Linux 5.0 */
#endif

/* Datagrams of up to 64 KB when the kernel coalesces: half a megabyte at a time stays in the second-level cache until
 * it is checked and placed. */
#define UDP_BATCH 8

static int udp_open(enum netblt_family family, netblt_failure *failure)
{
    const int on = 1;
    int fd = socket(netblt_family_to_socket(family), SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return netblt_fail(failure, errno == EAFNOSUPPORT ? NETBLT_FAILURE_UNSUPPORTED : NETBLT_FAILURE_LOCAL,
                           "cannot open a UDP socket: %s", strerror(errno));
    if (family == NETBLT_FAMILY_IPV6) /* IPv4 has a socket of its own, with the same port */
        (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
    /* Equal packets in a row may arrive as one datagram; a kernel that cannot goes on giving them one by one. */
    (void)setsockopt(fd, IPPROTO_UDP, UDP_GRO, &on, sizeof on);
    return fd;
}

static size_t udp_skip(enum netblt_family family, const uint8_t *datagram, size_t length)
{
    (void)family;
    (void)datagram;
    (void)length;
    return 0;
}

static size_t udp_wrap(netblt_link *link, const netblt_socket *from, const netblt_path *path, size_t length,
                       uint8_t header[NETBLT_IP_HEADER_BYTES])
{
    (void)link;
    (void)from;
    (void)path;
    (void)length;
    (void)header;
    return 0;
}

const netblt_link_ops netblt_udp_ops = {
    .open = udp_open,
    .skip = udp_skip,
    .wrap = udp_wrap,
    .header_bytes = UDP_HEADER_BYTES,
    .batch = UDP_BATCH,
};
