/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests of netblt_output_burst() with less room than a packet needs: it reports this and how much is needed, and it
 * sends what does fit. */
#include "check.h"
#include "peer.h"

#include <string.h>

static size_t output(struct peer *peer, size_t capacity, netblt_output *out)
{
    static uint8_t packets[NETBLT_PACKET_MAX_BYTES];
    memset(out, 0xEE, sizeof *out);
    return netblt_output_burst(peer->endpoint, packets, capacity, out, peer->now);
}

/* An endpoint that has a packet ready; the peer object has collected nothing of it. */
static void input_quietly(struct peer *peer, struct forged *packet)
{
    netblt_path path = {.local = {4, {10, 0, 0, 1}}, .foreign = {4, {10, 0, 0, 2}}};
    uint32_t sum = 0;
    forged_put16(packet, 4, (unsigned)packet->length);
    forged_put16(packet, 0, 0);
    for (size_t i = 0; i < packet->length; i += 2)
        sum += peer_get16(packet->bytes + i);
    sum = (sum & 0xFFFF) + (sum >> 16);
    sum = (sum & 0xFFFF) + (sum >> 16);
    forged_put16(packet, 0, ~sum & 0xFFFF);
    CHECK_EQUAL(netblt_input(peer->endpoint, &path, packet->bytes, packet->length, packet->length, peer->now), 0);
}

static void open_quietly(struct peer *peer, bool write)
{
    struct forged packet;
    peer_start(peer);
    forge_open(peer, &packet, OPEN, &peer->params, write);
    input_quietly(peer, &packet);
}

static void each_kind_of_packet_names_the_room_it_needs(void)
{
    struct peer peer;
    netblt_output out;
    peer_init(&peer, NETBLT_RECEIVER, false);
    peer.params.packet_size = 1000;
    peer.params.buffer_size = 1000;
    open_quietly(&peer, true);
    CHECK_EQUAL(output(&peer, 39, &out), 0);
    CHECK_EQUAL(out.error, NETBLT_ERR_NO_SPACE);
    CHECK_EQUAL(out.needed, 40); /* RESPONSE */
    CHECK_EQUAL(output(&peer, out.needed, &out), 40);
    CHECK_EQUAL(out.error, 0);
    CHECK_EQUAL(output(&peer, 1023, &out), 0); /* a CONTROL may become as long as a DATA packet */
    CHECK_EQUAL(out.error, NETBLT_ERR_NO_SPACE);
    CHECK_EQUAL(out.needed, 1024);
    CHECK(output(&peer, 1024, &out) > 0);
    CHECK_EQUAL(output(&peer, 1024, &out), 0); /* nothing is left: that is no error */
    CHECK_EQUAL(out.error, 0);
    CHECK_EQUAL(out.needed, 0);
    peer_free(&peer);
}

static void DATA_that_does_not_fit_waits_and_is_not_lost(void)
{
    struct peer peer;
    struct forged packet;
    netblt_output out;
    peer_init(&peer, NETBLT_SENDER, false);
    peer.params.packet_size = 1000;
    peer.params.buffer_size = 1500;
    peer.size = 1500;
    open_quietly(&peer, false);
    CHECK_EQUAL(output(&peer, 2000, &out), 40);
    forge(&peer, &packet, CONTROL);
    forge_go(&packet, 1, 0);
    input_quietly(&peer, &packet);
    for (int i = 0; i < 3; i++) {
        CHECK_EQUAL(output(&peer, 1023, &out), 0);
        CHECK_EQUAL(out.error, NETBLT_ERR_NO_SPACE);
        CHECK_EQUAL(out.needed, 1024);
    }
    CHECK_EQUAL(output(&peer, 1500, &out), 1024); /* one of two: the second does not fit after it, which is no error */
    CHECK_EQUAL(out.error, 0);
    CHECK_EQUAL(output(&peer, 1500, &out), 524);
    CHECK_EQUAL(peer_info(&peer)->stats.data_packets_sent, 2);
    peer_free(&peer);
}

static void a_packet_without_a_connection_names_its_room_too(void)
{
    struct peer peer;
    struct forged packet;
    netblt_output out;
    peer_init(&peer, NETBLT_RECEIVER, false);
    peer.refuse = true;
    peer_start(&peer);
    forge_open(&peer, &packet, OPEN, &peer.params, true);
    input_quietly(&peer, &packet);
    CHECK_EQUAL(output(&peer, 15, &out), 0);
    CHECK_EQUAL(out.error, NETBLT_ERR_NO_SPACE);
    size_t needed = out.needed;
    CHECK(needed > 15);
    CHECK_EQUAL(output(&peer, needed - 1, &out), 0);
    CHECK_EQUAL(output(&peer, needed, &out), needed);
    peer_free(&peer);
}

static void refuse_quietly(struct peer *peer, const char *reason)
{
    struct forged packet;
    peer->refusal = reason;
    forge_open(peer, &packet, OPEN, &peer->params, true);
    input_quietly(peer, &packet);
}

/* The newest reply leaves first when it alone fits; a later one still leaves after the others. */
static void a_short_reply_that_overtakes_long_ones_does_not_lose_the_next(void)
{
    static const char *reasons[] = {"a long reason", "another long one", "spoken afterwards"};
    struct peer peer;
    netblt_output out;
    uint8_t bytes[64];
    peer_init(&peer, NETBLT_RECEIVER, false);
    peer.refuse = true;
    snprintf(peer.params.client_string, sizeof peer.params.client_string, "%s", "room for an answer");
    peer_start(&peer);
    refuse_quietly(&peer, reasons[0]);
    refuse_quietly(&peer, reasons[1]);
    refuse_quietly(&peer, "short");
    CHECK_EQUAL(netblt_output_burst(peer.endpoint, bytes, 12 + 8, &out, peer.now), 20);
    CHECK(strcmp((const char *)bytes + 12, "short") == 0);
    refuse_quietly(&peer, reasons[2]);
    for (int i = 0; i < 3; i++) {
        CHECK(netblt_output_burst(peer.endpoint, bytes, sizeof bytes, &out, peer.now) > 0);
        CHECK(strcmp((const char *)bytes + 12, reasons[i]) == 0);
    }
    CHECK_EQUAL(netblt_output_burst(peer.endpoint, bytes, sizeof bytes, &out, peer.now), 0);
    peer_free(&peer);
}

int main(void)
{
    RUN(each_kind_of_packet_names_the_room_it_needs);
    RUN(DATA_that_does_not_fit_waits_and_is_not_lost);
    RUN(a_packet_without_a_connection_names_its_room_too);
    RUN(a_short_reply_that_overtakes_long_ones_does_not_lose_the_next);
    return 0;
}
