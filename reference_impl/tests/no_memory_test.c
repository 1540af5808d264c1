/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests of allocations that fail when memory is needed. A data receiver must not lose a message that it owes and
 * continue: it ends, lets its peer know, and frees all memory. A sender that cannot withhold packets sends them. */
#include "check.h"
#include "counted_memory.h"
#include "receiver_peer.h"

#include <string.h>

static void meet(struct peer *peer)
{
    peer_init(peer, NETBLT_RECEIVER, true);
    peer->allocator = &counted_allocator;
}

/* One packet, or the next timer, with the nth allocation of our endpoint failing; what it sends is collected later. */
static void with_failure(struct peer *peer, struct forged *packet, long n)
{
    peer->held_up = true;
    counted.failed = false;
    if (packet == NULL)
        peer->now = netblt_deadline(peer->endpoint);
    counted.fail_after = n;
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

/* More is missing than a RESEND holds: the rest is requested when the first part is acknowledged. */
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

/* ---- packets withheld from an unvalidated reader --------------------------------------------------------------- */

enum { PACKETS = 64 };

/* Two buffers of 64 packets, of which 31 are withheld. */
static void meet_reader(struct peer *peer)
{
    peer_init(peer, NETBLT_SENDER, false);
    peer->allocator = &counted_allocator;
    peer->unvalidated_bytes_per_s = 1 << 20;
    peer->size = 2 * PACKETS * 1000;
    peer->params.packet_size = 1000;
    peer->params.buffer_size = PACKETS * 1000;
    peer_open(peer);
    peer_mark(peer);
}

static unsigned missing_of(const struct peer *peer, uint32_t buffer, uint16_t list[PACKETS])
{
    unsigned count = 0;
    for (unsigned packet = 0; packet < PACKETS; packet++)
        if (peer_times_sent(peer, buffer, packet) == 0)
            list[count++] = (uint16_t)packet;
    return count;
}

/* Requests what is missing until both buffers are complete, as any reader does. */
static void complete_both(struct peer *peer, unsigned seq)
{
    uint16_t list[PACKETS];
    for (uint32_t buffer = 0; buffer < 2; buffer++) {
        unsigned count = missing_of(peer, buffer, list);
        if (count > 0)
            peer_resend(peer, seq++, buffer, list, count);
        peer_wait(peer, SECOND);
        CHECK_EQUAL(missing_of(peer, buffer, list), 0);
        peer_ok(peer, seq++, buffer);
    }
    CHECK_EQUAL(peer->finished, 1);
    CHECK_EQUAL(peer->result, NETBLT_DONE);
}

static void without_memory_for_what_is_withheld_a_buffer_is_sent_whole(void)
{
    unsigned whole = 0, failures = 0;
    for (long n = 0; n < 10; n++) {
        struct peer peer;
        struct forged packet;
        uint16_t list[PACKETS];
        meet_reader(&peer);
        forge(&peer, &packet, CONTROL);
        forge_go(&packet, 1, 0);
        with_failure(&peer, &packet, n);
        failures += counted.failed;
        if (peer.closed != 0) { /* for the buffer itself there was none */
            CHECK_EQUAL(peer.result, NETBLT_LOCAL_ABORT);
        } else {
            peer_wait(&peer, SECOND);
            unsigned count = missing_of(&peer, 0, list);
            CHECK(count == 0 || count == 31);
            CHECK(count == 0 || !counted.failed);
            whole += count == 0;
            peer_go(&peer, 2, 1);
            peer_wait(&peer, SECOND);
            complete_both(&peer, 3);
        }
        peer_free(&peer);
        CHECK_EQUAL(counted.blocks, 0);
    }
    CHECK_EQUAL(whole, 3); /* the record, and two bits for each packet */
    CHECK(failures > whole && failures < 10);
}

static void without_memory_to_send_what_was_withheld_a_RESEND_gets_it(void)
{
    for (long n = 0; n < 4; n++) {
        struct peer peer;
        struct forged packet;
        uint16_t list[PACKETS];
        meet_reader(&peer);
        peer_go(&peer, 1, 0);
        peer_go(&peer, 2, 1);
        peer_wait(&peer, SECOND);
        unsigned count = missing_of(&peer, 0, list);
        CHECK_EQUAL(count, 31);
        forge(&peer, &packet, CONTROL);
        forge_resend(&packet, 3, 0, list, count);
        with_failure(&peer, &packet, n);
        CHECK_EQUAL(counted.failed, n < 1); /* one list of packets to send, for the buffer that RESEND names */
        CHECK_EQUAL(peer_info(&peer)->unvalidated, n == 0);
        peer_wait(&peer, SECOND);
        CHECK_EQUAL(missing_of(&peer, 0, list), n == 0 ? 31 : 0);
        CHECK_EQUAL(missing_of(&peer, 1, list), 31); /* they wait for a RESEND of theirs */
        complete_both(&peer, n == 0 ? 3 : 4);        /* the first RESEND was not acknowledged then */
        CHECK_EQUAL(peer_info(&peer)->stats.data_packets_retransmitted, 0);
        peer_free(&peer);
        CHECK_EQUAL(counted.blocks, 0);
    }
}

int main(void)
{
    RUN(an_OK_for_which_there_is_no_memory_ends_the_transfer);
    RUN(a_RESEND_for_which_there_is_no_memory_ends_the_transfer);
    RUN(the_second_part_of_a_RESEND_for_which_there_is_no_memory_ends_the_transfer);
    RUN(without_memory_for_what_is_withheld_a_buffer_is_sent_whole);
    RUN(without_memory_to_send_what_was_withheld_a_RESEND_gets_it);
    return 0;
}
