/* SPDX-License-Identifier: BSD-2-Clause */
/* Segmented sends (UDP_SEGMENT): one system call and one walk through the stack for a whole run of packets; the kernel
 * or the interface cuts it into datagrams at the end. */
#include <errno.h>
#include <netinet/udp.h>
#include <string.h>

#include "io/link_state.h"

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103 /* Linux 4.18 */
#endif

/* Most segments that every kernel with UDP_SEGMENT takes (UDP_MAX_SEGMENTS before Linux 6.9). */
#define SEGMENTS_MAX 64

bool netblt_link_can_segment(int fd)
{
    const int off = 0;
    return setsockopt(fd, IPPROTO_UDP, UDP_SEGMENT, &off, sizeof off) == 0;
}

void netblt_link_transmit_singly(netblt_link *link)
{
    for (unsigned i = 0; i < NETBLT_LINK_SOCKETS; i++)
        link->sockets[i].unsegmented_from_bytes = 0;
}

static size_t segments_of(const netblt_output *run, size_t first)
{
    size_t fitting = NETBLT_LINK_RUN_MAX_BYTES / run->segment_bytes;
    size_t left = run->count - first;
    if (fitting > SEGMENTS_MAX)
        fitting = SEGMENTS_MAX;
    return left < fitting ? left : fitting;
}

/* EIO and EOPNOTSUPP: a device without checksum offload; ENOPROTOOPT: a kernel without UDP_SEGMENT; EINVAL and
 * EMSGSIZE: a segment does not fit the path, and neither will larger ones. None is worth another try: whatever is wrong
 * with the packets themselves will show when they are sent one by one. */
static bool gives_up(netblt_socket *from, int error, size_t segment_bytes)
{
    switch (error) {
    case EIO:
    case EOPNOTSUPP:
    case ENOPROTOOPT:
        from->unsegmented_from_bytes = 0;
        return true;
    case EINVAL:
    case EMSGSIZE:
        from->unsegmented_from_bytes = segment_bytes;
        return true;
    default:
        return false;
    }
}

static int set_segments(netblt_socket *from, int bytes)
{
    if (from->segment_bytes == bytes)
        return 0;
    if (setsockopt(from->fd, IPPROTO_UDP, UDP_SEGMENT, &bytes, sizeof bytes) != 0)
        return -1;
    from->segment_bytes = bytes;
    return 0;
}

void netblt_link_forget_segments(netblt_socket *from)
{
    (void)set_segments(from, 0); /* that cannot fail where another value could be set */
}

/* To the only peer: name and segment size, which each other call has to carry, are the socket's. */
static ssize_t send_connected(netblt_socket *from, const struct iovec *run, uint16_t segment_bytes)
{
    if (set_segments(from, segment_bytes) != 0)
        return -1;
    return send(from->fd, run->iov_base, run->iov_len, MSG_DONTWAIT);
}

static ssize_t send_to(const netblt_socket *from, const netblt_path *path, struct iovec *run, uint16_t segment_bytes)
{
    _Alignas(struct cmsghdr) uint8_t control[LINK_CONTROL_BYTES];
    struct sockaddr_storage peer;
    struct msghdr message = {.msg_name = &peer, .msg_iov = run, .msg_iovlen = 1, .msg_control = control};
    message.msg_controllen = netblt_link_choose_source(from, path, control);
    message.msg_controllen += netblt_link_put_control(control + message.msg_controllen, IPPROTO_UDP, UDP_SEGMENT,
                                                      &segment_bytes, sizeof segment_bytes);
    message.msg_namelen = netblt_address_to_sockaddr(&path->foreign, &peer);
    return sendmsg(from->fd, &message, MSG_DONTWAIT);
}

static bool is_connected(const netblt_socket *from, const netblt_address *foreign)
{
    return from->connected_to.length != 0 && from->connected_to.length == foreign->length &&
           memcmp(from->connected_to.bytes, foreign->bytes, foreign->length) == 0;
}

int netblt_link_send_segmented(netblt_socket *from, const netblt_output *run, const uint8_t *packets, size_t *next)
{
    size_t segments = segments_of(run, *next);
    size_t offset = *next * run->segment_bytes;
    size_t left = run->length - offset;
    size_t length = segments * run->segment_bytes < left ? segments * run->segment_bytes : left;
    const uint16_t segment_bytes = (uint16_t)run->segment_bytes;
    struct iovec vector = {.iov_base = (void *)(uintptr_t)(packets + offset), .iov_len = length};
    ssize_t sent;
    if (segments < 2 || run->segment_bytes >= from->unsegmented_from_bytes)
        return ENOTSUP;
    sent = is_connected(from, &run->path.foreign) ? send_connected(from, &vector, segment_bytes)
                                                  : send_to(from, &run->path, &vector, segment_bytes);
    if (sent < 0)
        return gives_up(from, errno, run->segment_bytes) ? ENOTSUP : errno;
    *next += segments;
    return 0;
}
