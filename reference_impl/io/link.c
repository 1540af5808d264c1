/* SPDX-License-Identifier: BSD-2-Clause */
#include "io/link.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/entropy.h"
#include "io/link_internal.h"

/* Holds what arrives while the process is not running: 8 MiB is 60 ms at 1 Gb/s. Without privilege the kernel gives
 * less (net.core.rmem_max), which is enough for default rates. */
#define SOCKET_BUFFER_BYTES (8 * 1024 * 1024)

static const netblt_link_ops *ops_of(enum netblt_encap encap)
{
    return encap == NETBLT_ENCAP_IP ? &netblt_raw_ip_ops : &netblt_udp_ops;
}

netblt_link *netblt_link_open(enum netblt_encap encap, netblt_failure *failure)
{
    netblt_link *link = calloc(1, sizeof *link);
    uint8_t *slots = malloc((size_t)NETBLT_LINK_BATCH * LINK_SLOT_BYTES);

    if (link == NULL || slots == NULL) {
        netblt_fail(failure, NETBLT_FAILURE_LOCAL, "not enough memory for the socket's buffers");
        free(link);
        free(slots);
        return NULL;
    }
    *link = (netblt_link){
        .encap = encap, .ops = ops_of(encap), .fd = -1, .ip_id = (uint16_t)netblt_random_u32(), .receive_slots = slots};
    link->fd = link->ops->open(failure);
    if (link->fd < 0) {
        netblt_link_close(link);
        return NULL;
    }
    return link;
}

int netblt_link_bind(netblt_link *link, struct in_addr address, uint16_t udp_port, netblt_failure *failure)
{
    return link->ops->bind(link, address, udp_port, failure);
}

void netblt_link_close(netblt_link *link)
{
    if (link == NULL)
        return;
    if (link->fd >= 0)
        close(link->fd);
    free(link->receive_slots);
    free(link);
}

int netblt_link_fd(const netblt_link *link)
{
    return link->fd;
}

enum netblt_encap netblt_link_encap(const netblt_link *link)
{
    return link->encap;
}

netblt_address netblt_link_local(const netblt_link *link, struct in_addr address)
{
    return netblt_ipv4_address(address, link->udp_port);
}

size_t netblt_encap_overhead_bytes(enum netblt_encap encap)
{
    return ops_of(encap)->overhead_bytes;
}

/* The privileged form goes beyond net.core.[rw]mem_max; the plain one is what everybody may do. */
static void enlarge_buffers(int fd)
{
    const int bytes = SOCKET_BUFFER_BYTES;

    if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes) != 0)
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
    if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof bytes) != 0)
        setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
}

int netblt_link_set_common_options(int fd, netblt_failure *failure)
{
    const int on = 1;
    const int never_fragment = IP_PMTUDISC_DO; /* DATA-14 */

    enlarge_buffers(fd);
    if (setsockopt(fd, IPPROTO_IP, IP_PKTINFO, &on, sizeof on) != 0 ||
        setsockopt(fd, IPPROTO_IP, IP_RECVERR, &on, sizeof on) != 0 ||
        setsockopt(fd, IPPROTO_IP, IP_MTU_DISCOVER, &never_fragment, sizeof never_fragment) != 0)
        return netblt_fail(failure, NETBLT_FAILURE_LOCAL, "cannot set up the socket: %s", strerror(errno));
    return 0;
}

int netblt_link_bind_socket(int fd, struct in_addr address, uint16_t udp_port, netblt_failure *failure)
{
    struct sockaddr_in local = {.sin_family = AF_INET, .sin_port = htons(udp_port), .sin_addr = address};
    char text[INET_ADDRSTRLEN];

    if (bind(fd, (struct sockaddr *)&local, sizeof local) == 0)
        return 0;
    if (errno == EADDRINUSE)
        return netblt_fail(failure, NETBLT_FAILURE_LOCAL,
                           "UDP port %u is in use by another process on this host: choose another with --udp-port",
                           udp_port);
    if (errno == EACCES)
        return netblt_fail(failure, NETBLT_FAILURE_LOCAL,
                           "no permission for UDP port %u: choose one above 1023 with --udp-port", udp_port);
    inet_ntop(AF_INET, &address, text, sizeof text);
    return netblt_fail(failure, NETBLT_FAILURE_LOCAL, "--bind %s: %s; give an address of one of this host's interfaces",
                       text, strerror(errno));
}

bool netblt_link_allow_fragments(netblt_link *link)
{
    const int may_fragment = IP_PMTUDISC_DONT;

    if (link->may_fragment)
        return false;
    link->may_fragment = true;
    setsockopt(link->fd, IPPROTO_IP, IP_MTU_DISCOVER, &may_fragment, sizeof may_fragment);
    return true;
}
