/* SPDX-License-Identifier: BSD-2-Clause */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/errqueue.h>
#include <string.h>

#include "io/link_internal.h"

/* The beginning of the packet that caused the error; routers must return only 8 bytes of it. */
#define QUOTED_BYTES 64
#define CONTROL_BYTES (CMSG_SPACE(sizeof(struct sock_extended_err) + sizeof(struct sockaddr_in)) + 64)

static int find_error(struct msghdr *message)
{
    for (struct cmsghdr *item = CMSG_FIRSTHDR(message); item != NULL; item = CMSG_NXTHDR(message, item)) {
        struct sock_extended_err extended;

        if (item->cmsg_level != IPPROTO_IP || item->cmsg_type != IP_RECVERR)
            continue;
        memcpy(&extended, CMSG_DATA(item), sizeof extended);
        return (int)extended.ee_errno;
    }
    return 0;
}

/* For raw sockets the kernel quotes the whole IP packet when we wrote its header, else what followed it. */
static uint16_t find_local_port(const netblt_link *link, const uint8_t *quoted, size_t length)
{
    size_t skipped = 0;

    if (link->encap == NETBLT_ENCAP_IP && length >= NETBLT_IP_HEADER_BYTES && quoted[0] >> 4 == 4)
        skipped = (size_t)(quoted[0] & 0x0f) * 4;
    return length < skipped + 8 ? 0 : (uint16_t)(quoted[skipped + 6] << 8 | quoted[skipped + 7]);
}

static bool read_one(netblt_link *link, netblt_network_error *found)
{
    uint8_t quoted[QUOTED_BYTES];
    struct sockaddr_in destination = {0};
    struct iovec vector = {.iov_base = quoted, .iov_len = sizeof quoted};
    _Alignas(struct cmsghdr) uint8_t control[CONTROL_BYTES];
    struct msghdr message = {.msg_name = &destination,
                             .msg_namelen = sizeof destination,
                             .msg_iov = &vector,
                             .msg_iovlen = 1,
                             .msg_control = control,
                             .msg_controllen = sizeof control};
    ssize_t length;

    do {
        length = recvmsg(link->fd, &message, MSG_ERRQUEUE | MSG_DONTWAIT);
    } while (length < 0 && errno == EINTR);
    if (length < 0)
        return false;
    *found = (netblt_network_error){
        .foreign = netblt_ipv4_address(destination.sin_addr,
                                       link->encap == NETBLT_ENCAP_UDP ? ntohs(destination.sin_port) : 0),
        .local_port = find_local_port(link, quoted, (size_t)length),
        .error = find_error(&message),
    };
    return true;
}

void netblt_link_read_errors(netblt_link *link, netblt_network_error_fn *report, void *context)
{
    netblt_network_error found;
    int error;
    socklen_t length = sizeof error;

    while (read_one(link, &found)) {
        if (found.error == EMSGSIZE)
            netblt_link_allow_fragments(link);
        if (found.error != 0)
            report(context, &found);
    }
    /* An error that found no room in the queue would keep the socket "ready" for ever: reading it clears it. */
    getsockopt(link->fd, SOL_SOCKET, SO_ERROR, &error, &length);
}
