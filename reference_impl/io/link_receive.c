/* SPDX-License-Identifier: BSD-2-Clause */
/* Takes packets from the sockets of a link. */
#include <errno.h>
#include <netinet/udp.h>
#include <string.h>

#include "io/clock.h"
#include "io/inbox.h"
#include "io/link_state.h"

#ifndef UDP_GRO
#define UDP_GRO 104 /* Linux 5.0 */
#endif

/* What the kernel reports beside the datagram. */
struct notes {
    netblt_address destination; /* ours; empty for broadcasts and groups: a transfer has two ends */
    size_t segment_bytes;       /* of a coalesced run; 0 = one packet */
    netblt_time at;             /* of arrival, by the clock of the wall; 0 = not known */
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

static void note_time(const struct cmsghdr *item, struct notes *notes)
{
    struct timespec at;
    memcpy(&at, CMSG_DATA(item), sizeof at);
    notes->at = netblt_clock_of(&at);
}

static struct notes read_notes(struct msghdr *message)
{
    struct notes notes = {0};
    for (struct cmsghdr *item = CMSG_FIRSTHDR(message); item != NULL; item = CMSG_NXTHDR(message, item))
        if (item->cmsg_level == IPPROTO_IP && item->cmsg_type == IP_PKTINFO)
            note_ipv4_destination(item, &notes);
        else if (item->cmsg_level == IPPROTO_IPV6 && item->cmsg_type == IPV6_PKTINFO)
            note_ipv6_destination(item, &notes);
        else if (item->cmsg_level == IPPROTO_UDP && item->cmsg_type == UDP_GRO)
            note_segment(item, &notes);
        else if (item->cmsg_level == SOL_SOCKET && item->cmsg_type == SCM_TIMESTAMPNS)
            note_time(item, &notes);
    return notes;
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
                 .foreign = netblt_address_with_port(
                     &foreign, link->encap == NETBLT_ENCAP_UDP ? netblt_sockaddr_port(source) : 0)},
        .packets = datagram + skipped,
        .length = length - skipped,
        .segment_bytes = notes.segment_bytes != 0 ? notes.segment_bytes : length - skipped,
        .at = notes.at,
    };
    return true;
}

/* The kernel notes the time of the wall, which may be set at any moment: what that makes of an arrival is within the
 * bounds that the driver sets. */
static void to_own_clock(netblt_arrival *arrivals, unsigned count)
{
    if (count == 0)
        return;
    netblt_time wall_ahead = netblt_clock_wall() - netblt_clock_now(); /* modulo 2^64 */
    for (unsigned k = 0; k < count; k++)
        if (arrivals[k].at != 0)
            arrivals[k].at -= wall_ahead;
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
    /* Any error but "empty" is an ICMP report, reported once and read in full from the error queue: there may be more.
     */
    *more = count > 0 ? (unsigned)count == inbox->batch : count < 0 && errno != EAGAIN && errno != EWOULDBLOCK;
    for (int k = 0; k < count; k++)
        if (read_message(link, link->sockets[i].family, (unsigned)k, &arrivals[usable]))
            usable++;
    to_own_clock(arrivals, usable);
    return usable;
}
