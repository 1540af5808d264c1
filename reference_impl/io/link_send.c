/* SPDX-License-Identifier: BSD-2-Clause */
/* Gives packets to the sockets of a link. */
#include <errno.h>
#include <string.h>

#include "io/link_state.h"

/* Everything sendmmsg() needs for a part of a run. Peer and source address are the same for all packets of a run. */
struct outgoing {
    struct mmsghdr messages[NETBLT_LINK_BATCH];
    struct iovec vectors[NETBLT_LINK_BATCH][2]; /* header if it is ours, packet */
    uint8_t headers[NETBLT_LINK_BATCH][NETBLT_IP_HEADER_BYTES];
    bool by_packet_socket;
    struct sockaddr_storage peer;
    socklen_t peer_bytes;
    _Alignas(struct cmsghdr) uint8_t control[LINK_CONTROL_BYTES];
    size_t control_bytes;
};

static void prepare_packet(netblt_link *link, const netblt_socket *from, struct outgoing *outgoing, unsigned i,
                           const netblt_path *path, const uint8_t *packet, size_t length)
{
    size_t header_bytes = link->ops->wrap(link, from, path, length, outgoing->headers[i]);
    struct iovec *vectors = outgoing->vectors[i];
    if (outgoing->by_packet_socket)
        netblt_link_seal_ipv4(outgoing->headers[i]);
    vectors[0] = (struct iovec){.iov_base = outgoing->headers[i], .iov_len = header_bytes};
    vectors[1] = (struct iovec){.iov_base = (void *)(uintptr_t)packet, .iov_len = length};
    outgoing->messages[i].msg_hdr = (struct msghdr){.msg_name = &outgoing->peer,
                                                    .msg_namelen = outgoing->peer_bytes,
                                                    .msg_iov = header_bytes == 0 ? vectors + 1 : vectors,
                                                    .msg_iovlen = header_bytes == 0 ? 1 : 2,
                                                    .msg_control = outgoing->control,
                                                    .msg_controllen = outgoing->control_bytes};
}

static unsigned prepare(netblt_link *link, const netblt_socket *from, struct outgoing *outgoing,
                        const netblt_output *run, const uint8_t *packets, size_t first)
{
    unsigned count = 0;
    outgoing->by_packet_socket =
        netblt_link_next_hop(link, from, &run->path.foreign, &outgoing->peer, &outgoing->peer_bytes);
    if (outgoing->by_packet_socket) {
        outgoing->control_bytes = 0;
    } else {
        outgoing->control_bytes = netblt_link_choose_source(from, &run->path, outgoing->control);
        outgoing->peer_bytes = netblt_address_to_sockaddr(&run->path.foreign, &outgoing->peer);
    }
    for (size_t i = first; i < run->count && count < NETBLT_LINK_BATCH; i++) {
        size_t offset = i * run->segment_bytes;
        size_t left = run->length - offset;
        prepare_packet(link, from, outgoing, count++, &run->path, packets + offset,
                       left < run->segment_bytes ? left : run->segment_bytes);
    }
    return count;
}

/* Moves *next past what was sent. 0 or errno. */
static int send_one_by_one(netblt_link *link, netblt_socket *from, const netblt_output *run, const uint8_t *packets,
                           size_t *next)
{
    struct outgoing outgoing;
    netblt_link_forget_segments(from);
    unsigned count = prepare(link, from, &outgoing, run, packets, *next);
    link->last_by_packet_socket = outgoing.by_packet_socket;
    int sent = sendmmsg(outgoing.by_packet_socket ? link->packet_fd : from->fd, outgoing.messages, count, MSG_DONTWAIT);
    if (sent <= 0)
        return errno;
    *next += (size_t)sent;
    return 0;
}

static int send_some(netblt_link *link, netblt_socket *from, const netblt_output *run, const uint8_t *packets,
                     size_t *next)
{
    int error = ENOTSUP;
    if (link->encap == NETBLT_ENCAP_UDP)
        error = netblt_link_send_segmented(from, run, packets, next);
    else
        error = netblt_link_send_by_ring(link, from, run, packets, next);
    return error == ENOTSUP ? send_one_by_one(link, from, run, packets, next) : error;
}

/* Reports a packet that could not leave. */
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

/* The driver waits until the raw socket is writable, which shows nothing of the packet socket: a full packet socket
 * counts as congested, and the driver pauses.
 *
 * A socket reports an earlier packet's ICMP error by failing the next call, so a failed packet gets a second try;
 * what fails twice is lost as if in the network, and the protocol retransmits it. */
enum netblt_sent netblt_link_send(netblt_link *link, const netblt_output *run, const uint8_t *packets, size_t *next,
                                  netblt_network_error_fn *report, void *context)
{
    netblt_socket *from = &link->sockets[netblt_link_socket_for(&run->path.foreign)];
    size_t failed_once = SIZE_MAX;
    while (*next < run->count) {
        int error = send_some(link, from, run, packets, next);
        if (error == 0 || error == EINTR || (error == EMSGSIZE && netblt_link_allow_fragments(from)))
            continue;
        if (error == EAGAIN || error == EWOULDBLOCK)
            return link->last_by_packet_socket ? NETBLT_SENT_CONGESTED : NETBLT_SENT_LATER;
        if (error == ENOBUFS || error == ENOMEM)
            return NETBLT_SENT_CONGESTED;
        if (failed_once != *next) {
            failed_once = *next;
        } else {
            report_lost(run, packets + *next * run->segment_bytes, error, report, context);
            (*next)++;
        }
    }
    return NETBLT_SENT_ALL;
}
