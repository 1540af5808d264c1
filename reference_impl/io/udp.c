/* SPDX-License-Identifier: BSD-2-Clause */
/* NETBLT inside UDP: the packet, unchanged, is the datagram's payload. The passive end has a known UDP port, the
 * active end any free one; answers go to the address and port that a packet was seen to come from. */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "io/link_internal.h"

static int udp_open(netblt_failure *failure)
{
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return netblt_fail(failure, NETBLT_FAILURE_LOCAL, "cannot open a UDP socket: %s", strerror(errno));
    if (netblt_link_set_common_options(fd, failure) != 0) {
        close(fd);
        return -1;
    }
    return fd;
}

static int udp_bind(netblt_link *link, struct in_addr address, uint16_t udp_port, netblt_failure *failure)
{
    struct sockaddr_in bound = {0};
    socklen_t length = sizeof bound;

    if (netblt_link_bind_socket(link->fd, address, udp_port, failure) != 0)
        return -1;
    if (getsockname(link->fd, (struct sockaddr *)&bound, &length) != 0)
        return netblt_fail(failure, NETBLT_FAILURE_LOCAL, "cannot read the UDP port: %s", strerror(errno));
    link->udp_port = ntohs(bound.sin_port);
    return 0;
}

static size_t udp_skip(const uint8_t *datagram, size_t length)
{
    (void)datagram;
    (void)length;
    return 0;
}

static size_t udp_wrap(netblt_link *link, const netblt_path *path, size_t length,
                       uint8_t header[NETBLT_IP_HEADER_BYTES])
{
    (void)link;
    (void)path;
    (void)length;
    (void)header;
    return 0;
}

const netblt_link_ops netblt_udp_ops = {
    .open = udp_open,
    .bind = udp_bind,
    .skip = udp_skip,
    .wrap = udp_wrap,
    .overhead_bytes = NETBLT_IP_HEADER_BYTES + NETBLT_UDP_HEADER_BYTES,
};
