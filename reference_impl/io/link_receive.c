/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <netinet/udp.h>
#include <stdlib.h>
#include <string.h>

#include "io/link_internal.h"

#ifndef UDP_GRO
#define UDP_GRO 104 /* Linux 5.0 */
#endif

/* Room for the largest datagram that IP can carry, and some bytes so that neighbours do not share cache sets. */
#define SLOT_BYTES (65536 + 192)

/* Everything recvmmsg() needs for one batch, kept from call to call. */
struct netblt_inbox {
    unsigned batch;
    uint8_t *slots;
    struct mmsghdr messages[NETBLT_LINK_BATCH];
    struct iovec vectors[NETBLT_LINK_BATCH];
    struct sockaddr_storage sources[NETBLT_LINK_BATCH];
    _Alignas(struct cmsghdr) uint8_t control[NETBLT_LINK_BATCH][LINK_CONTROL_BYTES];
};

struct netblt_inbox *netblt_inbox_new(unsigned batch)
{
    struct netblt_inbox *inbox = calloc(1, sizeof *inbox);
    uint8_t *slots = malloc((size_t)batch * SLOT_BYTES);

    if (inbox == NULL || slots == NULL) {
        free(inbox);
        free(slots);
        return NULL;
    }
    inbox->batch = batch;
    inbox->slots = slots;
    for (unsigned i = 0; i < batch; i++) {
        inbox->vectors[i] = (struct iovec){.iov_base = slots + (size_t)i * SLOT_BYTES, .iov_len = SLOT_BYTES};
        inbox->messages[i].msg_hdr = (struct msghdr){.msg_name = &inbox->sources[i],
                                                     .msg_iov = &inbox->vectors[i],
                                                     .msg_iovlen = 1,
                                                     .msg_control = inbox->control[i]};
    }
    return inbox;
}

void netblt_inbox_free(struct netblt_inbox *inbox)
{
    if (inbox == NULL)
        return;
    free(inbox->slots);
    free(inbox);
}

/* What the kernel tells beside the datagram. */
struct notes {
    netblt_address destination; /* ours; empty for broadcasts and groups: a transfer has two ends */
    size_t segment_bytes;       /* of a coalesced run; 0 = one packet */
};

static void note_ipv4_destination(const struct cmsghdr *item, struct notes *notes)
{
    struct in_pktinfo info;

    memcpy(&info, CMSG_DATA(item), sizeof info);
    /* No interface: it was queued between socket() and setsockopt(IP_PKTINFO), when nothing was noted down. */
    if (info.ipi_addr.s_addr == info.ipi_spec_dst.s_addr || info.ipi_ifindex == 0)
        notes->destination = netblt_address_of_ipv4(info.ipi_addr);
}

static void note_ipv6_destination(const struct cmsghdr *item, struct notes *notes)
{
    struct in6_pktinfo info;

    memcpy(&info, CMSG_DATA(item), sizeof info);
    if (!IN6_IS_ADDR_MULTICAST(&info.ipi6_addr))
        notes->destination = netblt_address_of_ipv6(&info.ipi6_addr, info.ipi6_ifindex);
}

static void note_segment(const struct cmsghdr *item, struct notes *notes)
{
    int bytes;

    memcpy(&bytes, CMSG_DATA(item), sizeof bytes);
    notes->segment_bytes = bytes > 0 ? (size_t)bytes : 0;
}

static struct notes read_notes(struct msghdr *message)
{
    struct notes notes = {0};

    for (struct cmsghdr *item = CMSG_FIRSTHDR(message); item != NULL; item = CMSG_NXTHDR(message, item)) {
        if (item->cmsg_level == IPPROTO_IP && item->cmsg_type == IP_PKTINFO)
            note_ipv4_destination(item, &notes);
        else if (item->cmsg_level == IPPROTO_IPV6 && item->cmsg_type == IPV6_PKTINFO)
            note_ipv6_destination(item, &notes);
        else if (item->cmsg_level == IPPROTO_UDP && item->cmsg_type == UDP_GRO)
            note_segment(item, &notes);
    }
    return notes;
}

static uint16_t source_port(const struct sockaddr_storage *source)
{
    return ntohs(source->ss_family == AF_INET6 ? ((const struct sockaddr_in6 *)(const void *)source)->sin6_port
                                               : ((const struct sockaddr_in *)(const void *)source)->sin_port);
}

static bool read_message(const netblt_link *link, enum netblt_family family, unsigned i, netblt_arrival *arrival)
{
    struct mmsghdr *message = &link->inbox->messages[i];
    const struct sockaddr_storage *source = &link->inbox->sources[i];
    const uint8_t *datagram = link->inbox->vectors[i].iov_base;
    size_t length = message->msg_len;
    size_t skipped = link->ops->skip(family, datagram, length);
    struct notes notes = read_notes(&message->msg_hdr);
    netblt_address foreign = netblt_address_of_sockaddr(source);

    if (skipped >= length || (message->msg_hdr.msg_flags & MSG_TRUNC) != 0 || notes.destination.length == 0)
        return false;
    *arrival = (netblt_arrival){
        .path = {.local = netblt_link_local(link, &notes.destination),
                 .foreign =
                     netblt_address_with_port(&foreign, link->encap == NETBLT_ENCAP_UDP ? source_port(source) : 0)},
        .packets = datagram + skipped,
        .length = length - skipped,
        .segment_bytes = notes.segment_bytes != 0 ? notes.segment_bytes : length - skipped,
    };
    return true;
}

unsigned netblt_link_receive(netblt_link *link, unsigned i, netblt_arrival arrivals[NETBLT_LINK_BATCH], bool *more)
{
    struct netblt_inbox *inbox = link->inbox;
    unsigned usable = 0;
    int count;

    for (unsigned k = 0; k < inbox->batch; k++) {
        inbox->messages[k].msg_hdr.msg_namelen = sizeof inbox->sources[k];
        inbox->messages[k].msg_hdr.msg_controllen = LINK_CONTROL_BYTES;
    }
    count = recvmmsg(link->sockets[i].fd, inbox->messages, inbox->batch, MSG_DONTWAIT, NULL);
    /* Any error but "empty" is an ICMP report, told once and read in full from the error queue: there may be more. */
    *more = count > 0 ? (unsigned)count == inbox->batch : count < 0 && errno != EAGAIN && errno != EWOULDBLOCK;
    for (int k = 0; k < count; k++)
        if (read_message(link, link->sockets[i].family, (unsigned)k, &arrivals[usable]))
            usable++;
    return usable;
}
