/* SPDX-License-Identifier: BSD-2-Clause */
/* Which connection a packet belongs to, and which OPEN is a copy of an old one: addresses, ports and the unique ID,
 * each by itself. */
#include "check.h"
#include "peer.h"

#include <string.h>

enum { SEGMENT_BYTES = 64, SEGMENTS_MAX = 4 };

/* Packets that one call hands over, as a kernel does with packets that arrive together. */
struct batch {
    uint8_t bytes[SEGMENTS_MAX * SEGMENT_BYTES];
    size_t count;
};

/* Padded: bytes after Length are ignored (AMB-02). */
static void add(struct batch *batch, struct forged *packet)
{
    uint8_t *to = batch->bytes + batch->count++ * SEGMENT_BYTES;
    forged_put16(packet, 4, (unsigned)packet->length);
    forged_put16(packet, 0, 0);
    forged_put16(packet, 0, peer_sum(packet->bytes, packet->length));
    memset(to, 0, SEGMENT_BYTES);
    memcpy(to, packet->bytes, packet->length);
}

static int hand_over(struct peer *peer, const struct batch *batch)
{
    netblt_path path = {.local = {4, {10, 0, 0, 1}}, .foreign = {4, {10, 0, 0, peer->from}}};
    int error =
        netblt_input(peer->endpoint, &path, batch->bytes, batch->count * SEGMENT_BYTES, SEGMENT_BYTES, peer->now);
    peer_wait(peer, 0);
    return error;
}

static void add_bare(struct peer *peer, struct batch *batch, int type)
{
    struct forged packet;
    forge(peer, &packet, type);
    add(batch, &packet);
}

static void add_open(struct peer *peer, struct batch *batch, uint16_t peer_port, uint16_t our_port)
{
    struct forged packet;
    forge_open(peer, &packet, OPEN, &peer->params, true);
    forged_put16(&packet, 6, peer_port);
    forged_put16(&packet, 8, our_port);
    add(batch, &packet);
}

static void DEMUX_02_packets_that_arrive_together_go_each_to_its_own_connection(void)
{
    struct peer peer;
    struct batch batch = {.count = 0};
    peer_init(&peer, NETBLT_RECEIVER, false);
    peer_open(&peer);
    uint64_t before = peer_info(&peer)->stats.packets_received;
    add_bare(&peer, &batch, KEEPALIVE);
    add_open(&peer, &batch, 7001, peer.our_port); /* another port of the peer */
    add_bare(&peer, &batch, KEEPALIVE);
    peer.refuse = true; /* our listener */
    CHECK_EQUAL(hand_over(&peer, &batch), 0);
    CHECK_EQUAL(peer.requests, 2);
    CHECK_EQUAL(peer_info(&peer)->stats.packets_received, before + 2);
    peer_free(&peer);
}

static void DEMUX_02_the_same_port_of_the_peer_and_another_of_ours_is_another_connection(void)
{
    struct peer peer;
    struct batch batch = {.count = 0};
    peer_init(&peer, NETBLT_RECEIVER, false);
    peer_open(&peer);
    uint64_t before = peer_info(&peer)->stats.packets_received;
    peer.our_port = 2; /* of the packets; there is no listener */
    add_bare(&peer, &batch, ABORT);
    peer.our_port = 1;
    add_bare(&peer, &batch, KEEPALIVE);
    peer.our_port = 2;
    add_bare(&peer, &batch, ABORT);
    peer.our_port = 1;
    CHECK_EQUAL(hand_over(&peer, &batch), 0);
    CHECK_EQUAL(peer.finished, 0);
    CHECK_EQUAL(peer_info(&peer)->stats.packets_received, before + 1);
    peer_free(&peer);
}

static void a_call_without_packets_is_refused(void)
{
    struct peer peer;
    netblt_path path = {.local = {4, {10, 0, 0, 1}}, .foreign = {4, {10, 0, 0, 2}}};
    uint8_t packet[12] = {0};
    peer_init(&peer, NETBLT_RECEIVER, false);
    peer_start(&peer);
    CHECK_EQUAL(netblt_input(peer.endpoint, &path, packet, 0, 12, peer.now), NETBLT_ERR_MALFORMED);
    CHECK_EQUAL(netblt_input(peer.endpoint, &path, packet, 12, 0, peer.now), NETBLT_ERR_MALFORMED);
    peer_free(&peer);
}

/* An ABORT on another path, with the ports of the connection. */
static void abort_on(struct peer *peer, netblt_path path)
{
    struct batch batch = {.count = 0};
    add_bare(peer, &batch, ABORT);
    CHECK_EQUAL(netblt_input(peer->endpoint, &path, batch.bytes, SEGMENT_BYTES, SEGMENT_BYTES, peer->now), 0);
    peer_wait(peer, 0);
}

static void DEMUX_02_each_address_counts_with_its_length(void)
{
    struct peer peer;
    peer_init(&peer, NETBLT_RECEIVER, false);
    peer_open(&peer);
    /* So many that some share a place in the table of connections. */
    for (unsigned other = 3; other <= UINT8_MAX; other++) {
        uint8_t byte = (uint8_t)other;
        abort_on(&peer, (netblt_path){.local = {4, {10, 0, 0, byte}}, .foreign = {4, {10, 0, 0, 2}}});
        abort_on(&peer, (netblt_path){.local = {4, {10, 0, 0, 1}}, .foreign = {4, {10, 0, 0, byte}}});
        abort_on(&peer, (netblt_path){.local = {5, {10, 0, 0, 1, byte}}, .foreign = {4, {10, 0, 0, 2}}});
        abort_on(&peer, (netblt_path){.local = {4, {10, 0, 0, 1}}, .foreign = {5, {10, 0, 0, 2, byte}}});
    }
    CHECK_EQUAL(peer.finished, 0);
    abort_on(&peer, (netblt_path){.local = {4, {10, 0, 0, 1}}, .foreign = {4, {10, 0, 0, 2}}});
    CHECK_EQUAL(peer.finished, 1);
    peer_free(&peer);
}

/* ---- copies of old OPENs --------------------------------------------------------------------------------------- */

/* A transfer of nothing: our end sends, the peer completes the only buffer. */
static void finish_transfer(struct peer *peer)
{
    peer_init(peer, NETBLT_SENDER, false);
    peer->size = 0;
    peer_open(peer);
    peer_go(peer, 1, 0);
    peer_wait(peer, 10 * MS);
    peer_ok(peer, 2, 0);
    peer_bare(peer, DONE);
    peer_wait(peer, SECOND);
    CHECK_EQUAL(peer->closed, 1);
    CHECK_EQUAL(peer->requests, 1);
}

/* How often our listener is asked by an OPEN with these numbers. */
static unsigned requests_by(struct peer *peer, uint8_t from, uint16_t peer_port, uint32_t unique_id)
{
    struct forged packet;
    unsigned before = peer->requests;
    peer->refuse = true;
    peer->from = from;
    peer->peer_port = peer_port;
    peer->unique_id = unique_id;
    forge_open(peer, &packet, OPEN, &peer->params, false);
    CHECK_EQUAL(peer_send(peer, &packet), 0);
    return peer->requests - before;
}

static void OPEN_07_a_late_copy_of_an_open_is_known_by_all_its_numbers(void)
{
    struct peer peer;
    finish_transfer(&peer);
    uint32_t id = peer.unique_id;
    CHECK_EQUAL(requests_by(&peer, 2, 7000, id), 0);
    CHECK_EQUAL(requests_by(&peer, 2, 7001, id), 1);
    CHECK_EQUAL(requests_by(&peer, 3, 7000, id), 1);
    CHECK_EQUAL(requests_by(&peer, 2, 7000, id + 1), 1);
    peer_wait(&peer, 130 * SECOND); /* no packet wanders about for so long */
    CHECK_EQUAL(requests_by(&peer, 2, 7000, id), 1);
    peer_free(&peer);
}

int main(void)
{
    RUN(DEMUX_02_packets_that_arrive_together_go_each_to_its_own_connection);
    RUN(DEMUX_02_the_same_port_of_the_peer_and_another_of_ours_is_another_connection);
    RUN(a_call_without_packets_is_refused);
    RUN(DEMUX_02_each_address_counts_with_its_length);
    RUN(OPEN_07_a_late_copy_of_an_open_is_known_by_all_its_numbers);
    return 0;
}
