/* SPDX-License-Identifier: BSD-2-Clause */
/* Errors that the network reports (ICMP), from the sockets' error queues. */
#include <errno.h>
#include <string.h>
#include <time.h> /* before errqueue.h, which needs it */

#include <linux/errqueue.h>

#include "io/link_state.h"

/* The beginning of the packet that caused the error; routers must return only 8 bytes of it. */
#define QUOTED_BYTES 96
#define CONTROL_BYTES (CMSG_SPACE(sizeof(struct sock_extended_err) + sizeof(struct sockaddr_in6)) + 128)

/* ICMPv6 calls a host without a socket for protocol 30 a parameter problem, unrecognized next header. */
#define PARAMETER_PROBLEM 4
#define UNRECOGNIZED_NEXT_HEADER 1

/* The same errno value over both families. */
static int errno_of(const struct sock_extended_err *extended)
{
    if (extended->ee_origin == SO_EE_ORIGIN_ICMP6 && extended->ee_type == PARAMETER_PROBLEM &&
        extended->ee_code == UNRECOGNIZED_NEXT_HEADER)
        return ENOPROTOOPT;
    return (int)extended->ee_errno;
}

static int find_error(struct msghdr *message)
{
    for (struct cmsghdr *item = CMSG_FIRSTHDR(message); item != NULL; item = CMSG_NXTHDR(message, item)) {
        struct sock_extended_err extended;
        if (!(item->cmsg_level == IPPROTO_IP && item->cmsg_type == IP_RECVERR) &&
            !(item->cmsg_level == IPPROTO_IPV6 && item->cmsg_type == IPV6_RECVERR))
            continue;
        memcpy(&extended, CMSG_DATA(item), sizeof extended);
        return errno_of(&extended);
    }
    return 0;
}

/* The kernel quotes what followed the headers that it wrote itself: over UDP and raw IPv6 the NETBLT packet. For raw
 * IPv4 that is the whole IP packet, as long as we write its header. A packet that never left this host comes without
 * it. */
static size_t quoted_ip_header_bytes(enum netblt_encap encap, enum netblt_family family, const uint8_t *quoted,
                                     size_t length)
{
    if (encap == NETBLT_ENCAP_UDP || family == NETBLT_FAMILY_IPV6)
        return 0;
    return length >= NETBLT_IP_HEADER_BYTES && quoted[0] == IP_VERSION_AND_WORDS && quoted[9] == NETBLT_IP_PROTOCOL
               ? NETBLT_IP_HEADER_BYTES
               : 0;
}

static uint16_t find_local_port(size_t skipped, const uint8_t *quoted, size_t length)
{
    return length < skipped + 8 ? 0 : (uint16_t)(quoted[skipped + 6] << 8 | quoted[skipped + 7]);
}

static bool read_one(const netblt_link *link, const netblt_socket *from, netblt_network_error *found)
{
    uint8_t quoted[QUOTED_BYTES];
    struct sockaddr_storage destination = {0};
    struct iovec vector = {.iov_base = quoted, .iov_len = sizeof quoted};
    _Alignas(struct cmsghdr) uint8_t control[CONTROL_BYTES];
    struct msghdr message = {.msg_name = &destination,
                             .msg_namelen = sizeof destination,
                             .msg_iov = &vector,
                             .msg_iovlen = 1,
                             .msg_control = control,
                             .msg_controllen = sizeof control};
    netblt_address host;
    ssize_t length;
    do {
        length = recvmsg(from->fd, &message, MSG_ERRQUEUE | MSG_DONTWAIT);
    } while (length < 0 && errno == EINTR);
    if (length < 0)
        return false;
    host = netblt_address_of_sockaddr(&destination);
    *found = (netblt_network_error){
        .foreign =
            netblt_address_with_port(&host, link->encap == NETBLT_ENCAP_UDP ? netblt_sockaddr_port(&destination) : 0),
        .local_port = find_local_port(quoted_ip_header_bytes(link->encap, from->family, quoted, (size_t)length), quoted,
                                      (size_t)length),
        .error = find_error(&message),
    };
    return true;
}

void netblt_link_read_errors(netblt_link *link, unsigned i, netblt_network_error_fn *report, void *context)
{
    netblt_socket *from = &link->sockets[i];
    netblt_network_error found;
    int error;
    socklen_t length = sizeof error;
    while (read_one(link, from, &found)) {
        if (found.error == EMSGSIZE)
            netblt_link_allow_fragments(from);
        if (found.error != 0)
            report(context, &found);
    }
    /* An error that found no room in the queue would keep the socket "ready" for ever: reading it clears it. */
    getsockopt(from->fd, SOL_SOCKET, SO_ERROR, &error, &length);
}
