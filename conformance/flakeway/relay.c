/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The relay: a flakeway for real packets between two interfaces. */
#include "relay.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/virtio_net.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "ipv4.h"

#define NS_PER_US 1000u
#define NS_PER_S 1000000000u
#define BATCH_FRAMES 64
#define VLAN_TAG_BYTES 4
#define MAC_BYTES 12
#define FRAME_BYTES (65536 + ETH_HLEN)
#define FLUSH_EVERY_US 200000 /* a capture that is looked at while it grows lags by no more than this */

#ifndef VIRTIO_NET_HDR_GSO_UDP_L4
#define VIRTIO_NET_HDR_GSO_UDP_L4 5
#endif

/* A frame as it came, with room for a VLAN tag that the kernel removed. */
typedef struct frame_slot {
    struct virtio_net_hdr offload;
    uint8_t bytes[VLAN_TAG_BYTES + FRAME_BYTES]; /* the frame is received after that room */
    _Alignas(
        struct cmsghdr) char control[CMSG_SPACE(sizeof(struct tpacket_auxdata)) + CMSG_SPACE(sizeof(struct timespec))];
} frame_slot;

typedef struct relay_batch {
    frame_slot slots[BATCH_FRAMES];
    struct mmsghdr messages[BATCH_FRAMES];
    struct iovec parts[BATCH_FRAMES][2];
    uint8_t segment[FRAME_BYTES];
    uint8_t repaired[FRAME_BYTES];
} relay_batch;

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (uint64_t)time.tv_sec * NS_PER_S + (uint64_t)time.tv_nsec;
}

static uint64_t elapsed_ns(const relay *r)
{
    return clock_ns(CLOCK_MONOTONIC) - r->start_ns;
}

static void end(relay *r, enum relay_exit code)
{
    r->over = true;
    if (code > r->exit)
        r->exit = code;
}

/* What the sender's kernel left to the card: the checksum from csum_start to the end, stored csum_offset after it. */
static void complete_checksum(const struct virtio_net_hdr *offload, uint8_t *frame, size_t end)
{
    size_t start = offload->csum_start;
    size_t place = start + offload->csum_offset;
    if (start < end && place + 1 < end) {
        uint16_t checksum = ipv4_checksum(frame + start, end - start, 0);
        frame[place] = (uint8_t)(checksum >> 8);
        frame[place + 1] = (uint8_t)checksum;
    }
}

static bool is_ipv4(const uint8_t *frame, size_t length)
{
    return length >= ETH_HLEN + IPV4_HEADER_BYTES && frame[MAC_BYTES] == 0x08 && frame[MAC_BYTES + 1] == 0x00;
}

/* ---- out -------------------------------------------------------------------------------------------------- */

static void send_released(relay *r, const flakeway_released *released, uint64_t now_ns)
{
    const uint8_t *frame = released->packet.bytes;
    size_t length = released->packet.length;
    if (released->changed) {
        memcpy(r->batch->repaired, frame, length);
        frame = r->batch->repaired;
        ipv4_repair(r->batch->repaired + ETH_HLEN, released->packet.netblt_offset - ETH_HLEN,
                    released->packet.netblt_length);
    }
    flakeway_capture_left(&r->capture, released->direction, released, frame + ETH_HLEN, length - ETH_HLEN,
                          r->start_real_ns + now_ns);
    relay_socket_send(&r->sockets[1 - released->direction], NULL, frame, length);
}

static void release_due(relay *r, uint64_t now_ns)
{
    flakeway_released released;
    while (flakeway_release(r->engine, now_ns / NS_PER_US, &released))
        send_released(r, &released, now_ns);
}

/* ---- in --------------------------------------------------------------------------------------------------- */

/* Cuts off what follows the IP packet (padding of short frames), offers the rest. */
static void offer(relay *r, enum flakeway_direction direction, const uint8_t *frame, const ipv4_view *view)
{
    uint64_t now_ns = elapsed_ns(r);
    const flakeway_packet packet = {.bytes = frame,
                                    .length = ETH_HLEN + view->total_bytes,
                                    .netblt_offset = ETH_HLEN + view->netblt_offset,
                                    .netblt_length = view->netblt_length,
                                    .link_bytes = view->total_bytes};
    uint64_t id = flakeway_offer(r->engine, direction, &packet, now_ns / NS_PER_US);
    flakeway_capture_entered(&r->capture, direction, id, frame + ETH_HLEN, view->total_bytes,
                             r->start_real_ns + now_ns);
    release_due(r, now_ns);
    if (++r->netblt_packets == r->options->max_packets)
        end(r, RELAY_DONE);
}

/* A segmented UDP send crosses a veth as one large frame: the packets that a network card would have made of it. */
static void offer_segments(relay *r, enum flakeway_direction direction, const uint8_t *frame, const ipv4_view *view,
                           size_t segment_bytes)
{
    uint8_t *copy = r->batch->segment;
    size_t head = ETH_HLEN + view->netblt_offset;
    uint16_t identification = ipv4_identification(frame + ETH_HLEN);
    for (size_t at = 0; at < view->netblt_length && !r->over; at += segment_bytes) {
        ipv4_view part = *view;
        size_t left = view->netblt_length - at;
        part.netblt_length = left < segment_bytes ? left : segment_bytes;
        part.total_bytes = view->netblt_offset + part.netblt_length;
        memcpy(copy, frame, head);
        memcpy(copy + head, frame + head + at, part.netblt_length);
        ipv4_set_identification(copy + ETH_HLEN, identification++);
        ipv4_repair(copy + ETH_HLEN, view->netblt_offset, part.netblt_length);
        ipv4_set_udp_checksum(copy + ETH_HLEN);
        offer(r, direction, copy, &part);
    }
}

static void forward_untouched(relay *r, enum flakeway_direction direction, const struct virtio_net_hdr *offload,
                              const uint8_t *frame, size_t length)
{
    r->other_frames[direction]++;
    if (is_ipv4(frame, length)) {
        uint64_t time_ns = r->start_real_ns + elapsed_ns(r);
        flakeway_capture_entered(&r->capture, direction, 0, frame + ETH_HLEN, length - ETH_HLEN, time_ns);
        flakeway_capture_left(&r->capture, direction, NULL, frame + ETH_HLEN, length - ETH_HLEN, time_ns);
    }
    relay_socket_send(&r->sockets[1 - direction], offload, frame, length);
}

static void take_frame(relay *r, enum flakeway_direction direction, struct virtio_net_hdr *offload, uint8_t *frame,
                       size_t length)
{
    ipv4_view view;
    bool ipv4 = is_ipv4(frame, length);
    bool netblt = ipv4 && ipv4_find_netblt(frame + ETH_HLEN, length - ETH_HLEN, r->options->udp_port, &view);
    if (ipv4 && !netblt && r->options->all_ip && view.total_bytes >= IPV4_HEADER_BYTES &&
        view.total_bytes <= length - ETH_HLEN) {
        view.netblt_length = 0; /* rates only: rules read NETBLT's headers */
        if (offload->flags & VIRTIO_NET_HDR_F_NEEDS_CSUM)
            complete_checksum(offload, frame, ETH_HLEN + view.total_bytes);
        offer(r, direction, frame, &view);
    } else if (!netblt) {
        forward_untouched(r, direction, offload, frame, length);
    } else if (view.udp && offload->gso_type == VIRTIO_NET_HDR_GSO_UDP_L4 && offload->gso_size) {
        offer_segments(r, direction, frame, &view, offload->gso_size);
    } else {
        if (view.udp && (offload->flags & VIRTIO_NET_HDR_F_NEEDS_CSUM))
            ipv4_set_udp_checksum(frame + ETH_HLEN); /* the sender's kernel left it to the card */
        offer(r, direction, frame, &view);
    }
}

/* Puts the VLAN tag back that the kernel removed on receipt; returns where the frame begins now. */
static uint8_t *restore_vlan(struct msghdr *header, frame_slot *slot, size_t *length)
{
    struct tpacket_auxdata aux;
    for (struct cmsghdr *part = CMSG_FIRSTHDR(header); part; part = CMSG_NXTHDR(header, part)) {
        if (part->cmsg_level != SOL_PACKET || part->cmsg_type != PACKET_AUXDATA)
            continue;
        memcpy(&aux, CMSG_DATA(part), sizeof aux);
        if (!(aux.tp_status & TP_STATUS_VLAN_VALID))
            continue;
        uint16_t tag[2] = {htons(aux.tp_status & TP_STATUS_VLAN_TPID_VALID ? aux.tp_vlan_tpid : ETH_P_8021Q),
                           htons(aux.tp_vlan_tci)};
        memmove(slot->bytes, slot->bytes + VLAN_TAG_BYTES, MAC_BYTES);
        memcpy(slot->bytes + MAC_BYTES, tag, sizeof tag);
        *length += VLAN_TAG_BYTES;
        slot->offload.csum_start = (uint16_t)(slot->offload.csum_start + VLAN_TAG_BYTES);
        slot->offload.hdr_len = (uint16_t)(slot->offload.hdr_len + VLAN_TAG_BYTES);
        return slot->bytes;
    }
    return slot->bytes + VLAN_TAG_BYTES;
}

static void prepare_batch(relay_batch *batch)
{
    for (unsigned i = 0; i < BATCH_FRAMES; i++) {
        frame_slot *slot = &batch->slots[i];
        batch->parts[i][0] = (struct iovec){.iov_base = &slot->offload, .iov_len = sizeof slot->offload};
        batch->parts[i][1] = (struct iovec){.iov_base = slot->bytes + VLAN_TAG_BYTES, .iov_len = FRAME_BYTES};
        batch->messages[i].msg_hdr = (struct msghdr){.msg_iov = batch->parts[i],
                                                     .msg_iovlen = 2,
                                                     .msg_control = slot->control,
                                                     .msg_controllen = sizeof slot->control};
    }
}

/* The capture has a frame at the moment at which it was read: how much later that was than its arrival. */
static void measure_wait(relay_socket *s, struct msghdr *message, uint64_t now_real_ns)
{
    for (struct cmsghdr *part = CMSG_FIRSTHDR(message); part; part = CMSG_NXTHDR(message, part)) {
        if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_TIMESTAMPNS)
            continue;
        struct timespec arrival;
        memcpy(&arrival, CMSG_DATA(part), sizeof arrival);
        uint64_t arrival_ns = (uint64_t)arrival.tv_sec * NS_PER_S + (uint64_t)arrival.tv_nsec;
        if (arrival_ns < now_real_ns && now_real_ns - arrival_ns > s->longest_wait_ns)
            s->longest_wait_ns = now_real_ns - arrival_ns;
    }
}

static void check_interface(relay *r, const relay_socket *s)
{
    if (!relay_socket_alive(s)) {
        fprintf(stderr, "flakeway: the interface %s has disappeared\n", s->name);
        end(r, RELAY_BROKE);
    }
}

static void receive(relay *r, enum flakeway_direction side)
{
    relay_batch *batch = r->batch;
    prepare_batch(batch);
    int count = recvmmsg(r->sockets[side].fd, batch->messages, BATCH_FRAMES, MSG_DONTWAIT, NULL);
    if (count < 0) {
        if (errno != EAGAIN && errno != EINTR)
            check_interface(r, &r->sockets[side]); /* ENETDOWN also when it was only set down */
        return;
    }
    uint64_t now_real_ns = clock_ns(CLOCK_REALTIME);
    for (int i = 0; i < count && !r->over; i++) {
        frame_slot *slot = &batch->slots[i];
        measure_wait(&r->sockets[side], &batch->messages[i].msg_hdr, now_real_ns);
        if (batch->messages[i].msg_len < sizeof slot->offload + ETH_HLEN)
            continue;
        size_t length = batch->messages[i].msg_len - sizeof slot->offload;
        uint8_t *frame = restore_vlan(&batch->messages[i].msg_hdr, slot, &length);
        take_frame(r, side, &slot->offload, frame, length);
    }
}

/* ---- the loop --------------------------------------------------------------------------------------------- */

static uint64_t earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* When something is to do though no frame comes. */
static uint64_t next_wakeup_us(const relay *r)
{
    uint64_t wakeup_us = flakeway_deadline(r->engine);
    if (r->options->duration_us)
        wakeup_us = earlier(wakeup_us, r->options->duration_us);
    if (r->capture_file)
        wakeup_us = earlier(wakeup_us, r->flushed_us + FLUSH_EVERY_US);
    return wakeup_us;
}

static void wait_for_events(relay *r, struct pollfd fds[3])
{
    uint64_t wakeup_us = next_wakeup_us(r);
    uint64_t now_ns = elapsed_ns(r);
    uint64_t wait_ns = wakeup_us == FLAKEWAY_NEVER      ? 3600ull * NS_PER_S
                       : wakeup_us * NS_PER_US > now_ns ? wakeup_us * NS_PER_US - now_ns
                                                        : 0;
    const struct timespec timeout = {.tv_sec = (time_t)(wait_ns / NS_PER_S), .tv_nsec = (long)(wait_ns % NS_PER_S)};
    for (unsigned side = 0; side < 2; side++)
        fds[side] = (struct pollfd){.fd = r->sockets[side].fd, .events = POLLIN};
    fds[2] = (struct pollfd){.fd = r->signals, .events = POLLIN};
    ppoll(fds, 3, &timeout, NULL);
}

static void flush_capture(relay *r, uint64_t now_us)
{
    if (r->capture_file && now_us >= r->flushed_us + FLUSH_EVERY_US) {
        r->flushed_us = now_us;
        if (!pcapng_flush(r->capture.writer))
            end(r, RELAY_BROKE); /* said when the file is closed */
    }
}

void relay_run(relay *r)
{
    r->batch = calloc(1, sizeof *r->batch);
    if (!r->batch) {
        fprintf(stderr, "flakeway: no memory\n");
        end(r, RELAY_BROKE);
    }
    while (!r->over) {
        struct pollfd fds[3];
        wait_for_events(r, fds);
        uint64_t now_ns = elapsed_ns(r);
        release_due(r, now_ns);
        for (unsigned side = 0; side < 2 && !r->over; side++)
            if (fds[side].revents)
                receive(r, (enum flakeway_direction)side);
        if (fds[2].revents || (r->options->duration_us && now_ns / NS_PER_US >= r->options->duration_us))
            end(r, RELAY_DONE);
        flush_capture(r, now_ns / NS_PER_US);
    }
    free(r->batch);
    r->batch = NULL;
}
