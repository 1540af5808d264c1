/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <string.h>

#include "io/link_internal.h"

#define CONTROL_BYTES CMSG_SPACE(sizeof(struct in_pktinfo))

/* Everything sendmmsg() needs for a part of a run. Peer and source address are the same for all packets of a run. */
struct outgoing {
    struct mmsghdr messages[NETBLT_LINK_BATCH];
    struct iovec vectors[NETBLT_LINK_BATCH][2]; /* header if it is ours, packet */
    uint8_t headers[NETBLT_LINK_BATCH][NETBLT_IP_HEADER_BYTES];
    struct sockaddr_in peer;
    _Alignas(struct cmsghdr) uint8_t control[CONTROL_BYTES];
};

/* Leaves from the address that the peer knows, whatever the routing would choose. */
static void choose_source(struct outgoing *outgoing, const netblt_path *path)
{
    struct in_pktinfo info = {.ipi_spec_dst = netblt_ipv4_of(&path->local)};
    struct cmsghdr *item = (struct cmsghdr *)(void *)outgoing->control;

    memset(outgoing->control, 0, sizeof outgoing->control);
    item->cmsg_level = IPPROTO_IP;
    item->cmsg_type = IP_PKTINFO;
    item->cmsg_len = CMSG_LEN(sizeof info);
    memcpy(CMSG_DATA(item), &info, sizeof info);
}

static void prepare_packet(netblt_link *link, struct outgoing *outgoing, unsigned i, const netblt_path *path,
                           const uint8_t *packet, size_t length)
{
    size_t header_bytes = link->ops->wrap(link, path, length, outgoing->headers[i]);
    struct iovec *vectors = outgoing->vectors[i];

    vectors[0] = (struct iovec){.iov_base = outgoing->headers[i], .iov_len = header_bytes};
    vectors[1] = (struct iovec){.iov_base = (void *)(uintptr_t)packet, .iov_len = length};
    outgoing->messages[i].msg_hdr = (struct msghdr){.msg_name = &outgoing->peer,
                                                    .msg_namelen = sizeof outgoing->peer,
                                                    .msg_iov = header_bytes == 0 ? vectors + 1 : vectors,
                                                    .msg_iovlen = header_bytes == 0 ? 1 : 2,
                                                    .msg_control = outgoing->control,
                                                    .msg_controllen = sizeof outgoing->control};
}

static unsigned prepare(netblt_link *link, struct outgoing *outgoing, const netblt_output *run, const uint8_t *packets,
                        size_t first)
{
    unsigned count = 0;

    choose_source(outgoing, &run->path);
    outgoing->peer = netblt_ipv4_sockaddr(&run->path.foreign);
    if (link->encap == NETBLT_ENCAP_IP)
        outgoing->peer.sin_port = 0;
    for (size_t i = first; i < run->count && count < NETBLT_LINK_BATCH; i++) {
        size_t offset = i * run->segment_bytes;
        size_t left = run->length - offset;

        prepare_packet(link, outgoing, count++, &run->path, packets + offset,
                       left < run->segment_bytes ? left : run->segment_bytes);
    }
    return count;
}

/* Tells of a packet that could not leave. */
static void report_lost(const netblt_output *run, const uint8_t *packet, int error, netblt_network_error_fn *report,
                        void *context)
{
    netblt_network_error lost = {
        .foreign = run->path.foreign,
        .local_port = (uint16_t)(packet[6] << 8 | packet[7]), /* WIRE-02: Local Port, of the emitter */
        .error = error,
    };

    report(context, &lost);
}

/* A socket tells of an earlier packet's ICMP error by failing the next call, so a failed packet gets a second try;
 * what fails twice is lost as if in the network, and the protocol repairs it. */
enum netblt_sent netblt_link_send(netblt_link *link, const netblt_output *run, const uint8_t *packets, size_t *next,
                                  netblt_network_error_fn *report, void *context)
{
    struct outgoing outgoing;
    size_t failed_once = SIZE_MAX;

    while (*next < run->count) {
        unsigned count = prepare(link, &outgoing, run, packets, *next);
        int sent = sendmmsg(link->fd, outgoing.messages, count, MSG_DONTWAIT);
        int error = errno;

        if (sent > 0) {
            *next += (size_t)sent;
        } else if (error == EAGAIN || error == EWOULDBLOCK) {
            return NETBLT_SENT_LATER;
        } else if (error == ENOBUFS || error == ENOMEM) {
            return NETBLT_SENT_CONGESTED;
        } else if (error == EINTR || (error == EMSGSIZE && netblt_link_allow_fragments(link))) {
            continue;
        } else if (failed_once != *next) {
            failed_once = *next;
        } else {
            report_lost(run, packets + *next * run->segment_bytes, error, report, context);
            (*next)++;
        }
    }
    return NETBLT_SENT_ALL;
}
