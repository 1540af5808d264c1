/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <string.h>

#include "io/link_internal.h"

#define CONTROL_BYTES CMSG_SPACE(sizeof(struct in_pktinfo))

/* Everything recvmmsg() needs for one batch. */
struct batch {
    struct mmsghdr messages[NETBLT_LINK_BATCH];
    struct iovec vectors[NETBLT_LINK_BATCH];
    struct sockaddr_in sources[NETBLT_LINK_BATCH];
    _Alignas(struct cmsghdr) uint8_t control[NETBLT_LINK_BATCH][CONTROL_BYTES];
};

static uint8_t *slot_of(const netblt_link *link, unsigned i)
{
    return link->receive_slots + (size_t)i * LINK_SLOT_BYTES;
}

static void prepare(const netblt_link *link, struct batch *batch)
{
    for (unsigned i = 0; i < NETBLT_LINK_BATCH; i++) {
        batch->vectors[i] = (struct iovec){.iov_base = slot_of(link, i), .iov_len = LINK_SLOT_BYTES};
        batch->messages[i].msg_hdr = (struct msghdr){.msg_name = &batch->sources[i],
                                                     .msg_namelen = sizeof batch->sources[i],
                                                     .msg_iov = &batch->vectors[i],
                                                     .msg_iovlen = 1,
                                                     .msg_control = batch->control[i],
                                                     .msg_controllen = CONTROL_BYTES};
    }
}

/* The address of ours that the packet was sent to. False for broadcasts and groups: a transfer has two ends. */
static bool find_destination(struct msghdr *message, struct in_addr *destination)
{
    for (struct cmsghdr *item = CMSG_FIRSTHDR(message); item != NULL; item = CMSG_NXTHDR(message, item)) {
        struct in_pktinfo info;

        if (item->cmsg_level != IPPROTO_IP || item->cmsg_type != IP_PKTINFO)
            continue;
        memcpy(&info, CMSG_DATA(item), sizeof info);
        *destination = info.ipi_addr;
        /* No interface: it was queued between socket() and setsockopt(IP_PKTINFO), when nothing was noted down. */
        return info.ipi_addr.s_addr == info.ipi_spec_dst.s_addr || info.ipi_ifindex == 0;
    }
    return false;
}

static bool read_message(const netblt_link *link, struct mmsghdr *message, const struct sockaddr_in *source,
                         const uint8_t *datagram, netblt_arrival *arrival)
{
    size_t length = message->msg_len;
    size_t skipped = link->ops->skip(datagram, length);
    struct in_addr destination;

    if (skipped >= length || (message->msg_hdr.msg_flags & MSG_TRUNC) != 0 ||
        !find_destination(&message->msg_hdr, &destination))
        return false;
    *arrival = (netblt_arrival){
        .path = {.local = netblt_link_local(link, destination),
                 .foreign = netblt_ipv4_address(source->sin_addr,
                                                link->encap == NETBLT_ENCAP_UDP ? ntohs(source->sin_port) : 0)},
        .packets = datagram + skipped,
        .length = length - skipped,
        .segment_bytes = length - skipped,
    };
    return true;
}

unsigned netblt_link_receive(netblt_link *link, netblt_arrival arrivals[NETBLT_LINK_BATCH], bool *more)
{
    struct batch batch;
    unsigned usable = 0;
    int count;

    prepare(link, &batch);
    count = recvmmsg(link->fd, batch.messages, NETBLT_LINK_BATCH, MSG_DONTWAIT, NULL);
    /* Any error but "empty" is an ICMP report, told once and read in full from the error queue: there may be more. */
    *more = count > 0 ? count == NETBLT_LINK_BATCH : count < 0 && errno != EAGAIN && errno != EWOULDBLOCK;
    for (int i = 0; i < count; i++)
        if (read_message(link, &batch.messages[i], &batch.sources[i], slot_of(link, (unsigned)i), &arrivals[usable]))
            usable++;
    return usable;
}
