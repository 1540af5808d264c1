/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"
#include "counted_memory.h"
#include "receiver_peer.h"

#include <string.h>

/* A data receiver whose memory runs out at the very moment at which it has something to say. It must not forget what it
 * owes and go on: it ends, tells its peer so, and gives all memory back. */

/* The client has memory enough. */
static uint8_t *provide(void *context, netblt_connection *connection, uint64_t index, uint32_t capacity)
{
    long when = counted.fail_after;
    counted.fail_after = -1;
    uint8_t *memory = peer_client.provide(context, connection, index, capacity);
    counted.fail_after = when;
    return memory;
}

static netblt_client client;

static void meet(struct peer *peer)
{
    peer_init(peer, NETBLT_RECEIVER, true);
    client = peer_client;
    client.provide = provide;
    peer->client = &client;
}

/* One packet, or the next timer, with the nth allocation of our endpoint failing; what it sends is collected later. */
static void with_failure(struct peer *peer, struct forged *packet, long n)
{
    peer->held_up = true;
    counted.failed = false;
    if (packet == NULL)
        peer->now = netblt_deadline(peer->endpoint);
    counted.fail_after = n + (packet != NULL); /* the first is the scripted peer's own */
    if (packet == NULL)
        netblt_timeout(peer->endpoint, peer->now);
    else
        CHECK_EQUAL(peer_send(peer, packet), 0);
    counted.fail_after = -1;
    peer->held_up = false;
    peer_wait(peer, 0);
}

/* Returns whether an allocation failed at all. */
static bool end_of(struct peer *peer)
{
    bool was = counted.failed;
    if (was) {
        CHECK_EQUAL(peer->result, NETBLT_LOCAL_ABORT);
        CHECK(strcmp(peer->reason, "out of memory") == 0);
        CHECK(peer->finished == 1 && peer->closed == 1);
        CHECK_EQUAL(peer->held, 0);
        CHECK_EQUAL(peer_count(peer, ABORT), 1);
    } else {
        CHECK_EQUAL(peer->finished, 0);
    }
    peer_free(peer);
    CHECK_EQUAL(counted.blocks, 0);
    return was;
}

static bool complete_the_first_of(uint16_t buffers, long n)
{
    struct peer peer;
    struct forged packet;
    meet(&peer);
    peer.params.max_buffers = buffers;
    begin(&peer, false); /* all GOs wait for their acks, and so will the OK */
    for (unsigned i = 0; i < 3; i++)
        peer_data(&peer, 0, i, 0, false);
    forge_data(&peer, &packet, LDATA, 0, 3, 0, false, peer.data + 300, 100, false);
    with_failure(&peer, &packet, n);
    return end_of(&peer);
}

static void an_OK_for_which_there_is_no_memory_ends_the_transfer(void)
{
    unsigned endings = 0;
    for (uint16_t buffers = 1; buffers <= 30; buffers++)
        for (long n = 0; n < 4; n++)
            endings += complete_the_first_of(buffers, n);
    CHECK(endings > 0 && endings < 30 * 4);
}

/* Buffer 0 misses packets, `complete` others have their OKs on the way: its data timer expires. */
static bool let_the_data_timer_expire(unsigned complete, long n)
{
    struct peer peer;
    meet(&peer);
    peer.params.max_buffers = 10;
    peer.options.any_order = true;
    begin(&peer, true);
    peer_data(&peer, 0, 0, 10, false);
    for (uint32_t buffer = 1; buffer <= complete; buffer++)
        send_buffer(&peer, buffer, 10, false);
    while (peer_info(&peer)->stats.data_timeouts == 0 && peer.closed == 0) {
        uint64_t before = peer.info.stats.data_timeouts;
        with_failure(&peer, NULL, n);
        CHECK_EQUAL(before, 0);
    }
    return end_of(&peer);
}

static void a_RESEND_for_which_there_is_no_memory_ends_the_transfer(void)
{
    unsigned endings = 0;
    for (unsigned complete = 0; complete < 20; complete++)
        for (long n = 0; n < 5; n++)
            endings += let_the_data_timer_expire(complete, n);
    CHECK(endings > 2 * 20 && endings < 20 * 5); /* the list, its copy, and sometimes the queue */
}

/* More is missing than a RESEND holds: the rest is asked for when the first part is acknowledged. */
static bool acknowledge_the_first_part(long n)
{
    struct peer peer;
    struct forged packet;
    meet(&peer);
    peer.params.packet_size = 1;
    peer.params.buffer_size = 1000;
    peer.params.max_buffers = 1;
    begin(&peer, true);
    forge_data(&peer, &packet, DATA, 0, 0, 1, false, peer.data, 1, false);
    peer_send(&peer, &packet);
    while (peer_info(&peer)->stats.resends_sent == 0)
        peer_wait(&peer, 10 * MS);
    forge_null_ack(&peer, &packet, 2, peer.params.burst_size, peer.params.burst_interval_ms);
    with_failure(&peer, &packet, n);
    return end_of(&peer);
}

static void the_second_part_of_a_RESEND_for_which_there_is_no_memory_ends_the_transfer(void)
{
    CHECK(acknowledge_the_first_part(0));
    CHECK(acknowledge_the_first_part(1));
    CHECK(!acknowledge_the_first_part(5));
}

int main(void)
{
    RUN(an_OK_for_which_there_is_no_memory_ends_the_transfer);
    RUN(a_RESEND_for_which_there_is_no_memory_ends_the_transfer);
    RUN(the_second_part_of_a_RESEND_for_which_there_is_no_memory_ends_the_transfer);
    return 0;
}
