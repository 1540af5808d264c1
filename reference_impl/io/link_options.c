/* SPDX-License-Identifier: BSD-2-Clause */
/* Options of sockets, and control data of what leaves. */
#include <errno.h>
#include <string.h>

#include "io/link_state.h"

/* Holds what arrives while the process is not running: 8 MiB is 60 ms at 1 Gb/s. Without privilege the kernel gives
 * less (net.core.rmem_max), which is enough for default rates. */
#define SOCKET_BUFFER_BYTES (8 * 1024 * 1024)

/* The privileged form goes beyond net.core.[rw]mem_max; the plain one is what every user may do. */
void netblt_link_enlarge_buffers(int fd)
{
    const int bytes = SOCKET_BUFFER_BYTES;
    if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes) != 0)
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
    if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof bytes) != 0)
        setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
}

static bool set(int fd, int level, int option, int value)
{
    return setsockopt(fd, level, option, &value, sizeof value) == 0;
}

/* Destination addresses of what arrives, reports of what did not, and no fragments (DATA-14). */
static bool set_ipv4_options(int fd)
{
    return set(fd, IPPROTO_IP, IP_PKTINFO, 1) && set(fd, IPPROTO_IP, IP_RECVERR, 1) &&
           set(fd, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DO);
}

/* The same. */
static bool set_ipv6_options(int fd)
{
    return set(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, 1) && set(fd, IPPROTO_IPV6, IPV6_RECVERR, 1) &&
           set(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_DO);
}

int netblt_link_set_common_options(int fd, enum netblt_family family, netblt_failure *failure)
{
    netblt_link_enlarge_buffers(fd);
    (void)set(fd, SOL_SOCKET, SO_TIMESTAMPNS, 1); /* without it, packets arrive when they are read */
    if (family == NETBLT_FAMILY_IPV6 ? set_ipv6_options(fd) : set_ipv4_options(fd))
        return 0;
    return netblt_fail(failure, NETBLT_FAILURE_LOCAL, "cannot set up the socket: %s", strerror(errno));
}

bool netblt_link_allow_fragments(netblt_socket *from)
{
    if (from->may_fragment)
        return false;
    from->may_fragment = true;
    if (from->family == NETBLT_FAMILY_IPV6) {
        set(from->fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_DONT);
    } else {
        set(from->fd, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DONT);
        set(from->fd, IPPROTO_IP, IP_HDRINCL, 0); /* raw IP: the kernel cuts only what it heads itself */
    }
    return true;
}

size_t netblt_link_put_control(uint8_t *control, int level, int type, const void *value, size_t length)
{
    struct cmsghdr *item = (struct cmsghdr *)(void *)control;
    memset(control, 0, CMSG_SPACE(length));
    item->cmsg_level = level;
    item->cmsg_type = type;
    item->cmsg_len = CMSG_LEN(length);
    memcpy(CMSG_DATA(item), value, length);
    return CMSG_SPACE(length);
}

/* Leaves from the address that the peer knows, whatever the routing would choose. */
size_t netblt_link_choose_source(const netblt_socket *from, const netblt_path *path,
                                 uint8_t control[LINK_CONTROL_BYTES])
{
    if (from->has_address)
        return 0;
    if (netblt_address_family(&path->local) == NETBLT_FAMILY_IPV6) {
        struct in6_pktinfo info = {.ipi6_ifindex = netblt_address_interface(&path->local)};
        memcpy(&info.ipi6_addr, path->local.bytes, NETBLT_IPV6_BYTES);
        return netblt_link_put_control(control, IPPROTO_IPV6, IPV6_PKTINFO, &info, sizeof info);
    }
    struct in_pktinfo info = {0};
    memcpy(&info.ipi_spec_dst, path->local.bytes, NETBLT_IPV4_BYTES);
    return netblt_link_put_control(control, IPPROTO_IP, IP_PKTINFO, &info, sizeof info);
}
