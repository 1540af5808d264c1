/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests of the data receiver, rule by rule, against a scripted peer: its control messages and its timers.
 * Standard buffers: 4 packets of 100 bytes. */
#include "receiver_peer.h"

#include <string.h>

/* A connection whose sender sends one packet each `interval_ms`. */
static void begin_at_pace(struct peer *peer, uint16_t interval_ms)
{
    peer_init(peer, NETBLT_RECEIVER, false);
    peer->params.burst_size = 1;
    peer->params.burst_interval_ms = interval_ms;
    begin(peer, true);
}

static void CTRL_01_GOs_start_at_sequence_1_and_DATA_06_number_buffers_in_order(void)
{
    for (int active = 0; active < 2; active++) {
        struct peer peer;
        peer_init(&peer, NETBLT_RECEIVER, active != 0);
        peer.params.max_buffers = 5;
        peer.first_buffer = UINT32_MAX - 1; /* past the wrap of buffer numbers */
        peer_open(&peer);
        CHECK_EQUAL(peer_count(&peer, CONTROL), 1);
        CHECK_EQUAL(peer_last_messages(&peer, messages, 128), 5); /* AMB-29: N at once, in one packet */
        for (unsigned i = 0; i < 5; i++) {
            CHECK_EQUAL(messages[i].type, GO);
            CHECK_EQUAL(messages[i].seq, i + 1);
            CHECK_EQUAL(messages[i].buffer, (uint32_t)(UINT32_MAX - 1 + i));
        }
        peer_free(&peer);
    }
}

static void CTRL_14_OK_follows_completion_with_the_GO_for_the_freed_buffer_in_one_packet(void)
{
    struct peer peer;
    peer_init(&peer, NETBLT_RECEIVER, false);
    begin(&peer, true);
    for (unsigned i = 0; i < 3; i++)
        peer_data(&peer, 0, i, 2, false);
    CHECK_EQUAL(peer_count(&peer, CONTROL), 0);
    peer_data(&peer, 0, 3, 2, false);
    CHECK_EQUAL(peer_count(&peer, CONTROL), 1); /* R1030-01 */
    CHECK_EQUAL(peer_last_messages(&peer, messages, 128), 2);
    CHECK_EQUAL(messages[0].type, OK);
    CHECK_EQUAL(messages[0].buffer, 0);
    CHECK_EQUAL(messages[0].seq, 3);
    CHECK_EQUAL(messages[1].type, GO);
    CHECK_EQUAL(messages[1].buffer, 2);
    CHECK(peer_delivered_exactly(&peer, 400));
    peer_free(&peer);
}

static void NEG_08_OK_offers_the_fixed_pair_and_CLOSE_07_publishes_the_timer_that_is_armed(void)
{
    struct peer peer;
    peer_init(&peer, NETBLT_RECEIVER, false);
    peer.params.burst_size = 7;
    peer.params.burst_interval_ms = 3;
    begin(&peer, true);
    send_buffer(&peer, 0, 2, false);
    netblt_time sent_at = peer.now;
    peer_last_messages(&peer, messages, 128);
    CHECK_EQUAL(messages[0].burst_size, 7);
    CHECK_EQUAL(messages[0].burst_interval_ms, 3);
    CHECK(messages[0].control_timer_ms > 0);
    netblt_time published_us = messages[0].control_timer_ms * MS;
    peer_mark(&peer);
    peer_wait(&peer, published_us - 1);
    CHECK_EQUAL(peer_count(&peer, CONTROL), 0);
    peer_wait(&peer, 1);
    CHECK_EQUAL(peer_nth(&peer, CONTROL, 0)->at, sent_at + published_us);
    peer_free(&peer);
}

static void CTRL_04_every_CONTROL_holds_all_unacked_messages_in_order(void)
{
    struct peer peer;
    peer_init(&peer, NETBLT_RECEIVER, false);
    peer.params.max_buffers = 3;
    begin(&peer, false);
    send_buffer(&peer, 0, 0, false); /* acknowledges nothing */
    CHECK_EQUAL(peer_last_messages(&peer, messages, 128), 5);
    CHECK_EQUAL(messages[0].seq, 1);
    CHECK_EQUAL(messages[4].seq, 5);
    send_buffer(&peer, 1, 0, false);
    CHECK_EQUAL(peer_last_messages(&peer, messages, 128), 7);
    CHECK_EQUAL(messages[0].seq, 1);
    peer_data(&peer, 2, 0, 4, false); /* acknowledges 1..4: CTRL-05 */
    send_buffer(&peer, 2, 4, false);
    CHECK_EQUAL(peer_last_messages(&peer, messages, 128), 5);
    CHECK_EQUAL(messages[0].seq, 5);
    peer_mark(&peer);
    peer_wait(&peer, 2 * SECOND); /* and the control timer repeats the same */
    CHECK(peer_count(&peer, CONTROL) >= 1);
    CHECK_EQUAL(peer_last_messages(&peer, messages, 128), 5);
    CHECK_EQUAL(messages[0].seq, 5);
    peer_free(&peer);
}

static void CTRL_02_a_repeated_message_is_the_same_even_if_missing_packets_came_meanwhile(void)
{
    struct peer peer;
    static struct message first[8];
    peer_init(&peer, NETBLT_RECEIVER, false);
    begin(&peer, true);
    peer_data(&peer, 0, 1, 2, false);
    peer_wait(&peer, SECOND);
    CHECK_EQUAL(peer_last_messages(&peer, first, 8), 2); /* RESENDs for both buffers */
    CHECK_EQUAL(first[0].type, RESEND);
    CHECK_EQUAL(first[0].count, 3);
    peer_data(&peer, 0, 2, 2, false);
    peer_mark(&peer);
    peer_wait(&peer, 3 * SECOND);
    CHECK(peer_count(&peer, CONTROL) >= 1);
    CHECK_EQUAL(peer_last_messages(&peer, messages, 128), 2);
    CHECK(memcmp(&messages[0], &first[0], sizeof first[0]) == 0);
    peer_free(&peer);
}

static void TIMER_01_unacked_messages_are_repeated_until_the_death_timer_with_mild_back_off(void)
{
    struct peer peer;
    peer_init(&peer, NETBLT_RECEIVER, false);
    begin(&peer, false);
    peer_wait(&peer, 59 * SECOND);
    size_t repeats = peer_count(&peer, CONTROL);
    CHECK(repeats >= 5);
    for (size_t i = 2; i < repeats; i++) {
        netblt_time gap = peer_nth(&peer, CONTROL, i)->at - peer_nth(&peer, CONTROL, i - 1)->at;
        CHECK(gap <= 15 * SECOND + MS); /* a quarter of the death timer: AMB-44 */
    }
    for (size_t i = 0; i < repeats; i++)
        CHECK_EQUAL(peer_messages(peer_nth(&peer, CONTROL, i), messages, 128), 2);
    CHECK_EQUAL(peer.finished, 0);
    peer_wait(&peer, SECOND);
    CHECK_EQUAL(peer.result, NETBLT_PEER_DEAD);
    CHECK_EQUAL(peer.closed, 1);
    peer_free(&peer);
}

static void TIMER_02_a_full_ack_stops_the_repeats_and_a_partial_one_does_not(void)
{
    struct peer peer;
    peer_init(&peer, NETBLT_RECEIVER, false);
    peer.params.burst_size = 1;
    peer.params.burst_interval_ms = 5000; /* so slow that no data timer expires in this test */
    begin(&peer, false);
    peer_null_ack(&peer, 1);
    peer_wait(&peer, 2 * SECOND);
    CHECK(peer_count(&peer, CONTROL) >= 1);
    CHECK_EQUAL(peer_last_messages(&peer, messages, 128), 1);
    CHECK_EQUAL(messages[0].seq, 2);
    peer_null_ack(&peer, 2);
    peer_mark(&peer);
    peer_wait(&peer, 20 * SECOND);
    CHECK_EQUAL(peer_count(&peer, CONTROL), 0);
    peer_free(&peer);
}

static void AMB_46_an_ack_that_overtakes_a_repeat_leaves_no_empty_CONTROL(void)
{
    struct peer peer;
    peer_init(&peer, NETBLT_RECEIVER, false);
    peer.stall_from = 2;
    begin(&peer, false);
    peer.now = netblt_deadline(peer.endpoint);
    netblt_timeout(peer.endpoint, peer.now); /* the control timer expires ... */
    peer_null_ack(&peer, 2);                 /* ... and the ack arrives before the repeat leaves */
    CHECK_EQUAL(peer_info(&peer)->stats.control_timeouts, 1);
    CHECK_EQUAL(peer_count(&peer, CONTROL), 0);
    peer_free(&peer);
}

static void TIMER_09_repairs_of_a_lower_buffer_do_not_make_a_higher_one_ask_too_soon(void)
{
    struct peer peer;
    begin_at_pace(&peer, 100);
    /* Buffer 0: only the first packet comes; buffer 1 follows on schedule until the RESEND has arrived. */
    peer_data(&peer, 0, 0, 2, false);
    unsigned acked = 2;
    unsigned buffer_1 = 0;
    while (peer_count(&peer, CONTROL) == 0) {
        peer_wait(&peer, 100 * MS);
        if (peer_count(&peer, CONTROL) == 0 && buffer_1 < 2)
            peer_data(&peer, 1, buffer_1++, acked, false);
    }
    CHECK_EQUAL(peer_last_messages(&peer, messages, 128), 1);
    CHECK_EQUAL(messages[0].buffer, 0);
    acked = messages[0].seq;
    /* The retransmissions take 300 ms, then the rest of buffer 1 comes. */
    for (unsigned i = 1; i < 4; i++) {
        peer_wait(&peer, 100 * MS);
        peer_data(&peer, 0, i, acked, false);
    }
    for (; buffer_1 < 4; buffer_1++) {
        peer_wait(&peer, 100 * MS);
        peer_data(&peer, 1, buffer_1, acked, false);
    }
    CHECK_EQUAL(peer_info(&peer)->stats.resends_sent, 1);
    CHECK(peer_delivered_exactly(&peer, 800));
    peer_free(&peer);
}

static void AMB_45_after_a_RESEND_the_timer_is_for_what_is_missing(void)
{
    struct peer peer;
    peer_init(&peer, NETBLT_RECEIVER, false);
    peer.params.burst_size = 1;
    peer.params.burst_interval_ms = 100;
    peer.params.max_buffers = 1;
    begin(&peer, true);
    for (unsigned i = 0; i < 3; i++)
        peer_data(&peer, 0, i, 1, false);
    while (peer_count(&peer, CONTROL) == 0)
        peer_wait(&peer, MS);
    peer_null_ack(&peer, 2); /* one packet is missing: one burst */
    peer_mark(&peer);
    netblt_time acked_at = peer.now;
    while (peer_count(&peer, CONTROL) == 0)
        peer_wait(&peer, MS);
    CHECK(peer.now - acked_at >= 100 * MS && peer.now - acked_at <= 200 * MS);
    peer_free(&peer);
}

static void CTRL_06_an_ack_of_messages_never_sent_is_ignored(void)
{
    struct peer peer;
    peer_init(&peer, NETBLT_RECEIVER, false);
    begin(&peer, false);
    peer_null_ack(&peer, 3);
    peer_null_ack(&peer, 40000);
    peer_wait(&peer, 2 * SECOND);
    CHECK_EQUAL(peer_last_messages(&peer, messages, 128), 2);
    CHECK_EQUAL(messages[0].seq, 1);
    peer_free(&peer);
}

static void TIMER_03_the_control_timer_follows_the_round_trip(void)
{
    struct peer peer;
    unsigned published[2];
    static const netblt_time round_trips[] = {30 * MS, 2 * SECOND};
    peer_init(&peer, NETBLT_RECEIVER, false);
    peer.params.death_timer_s = 600;
    peer.params.max_buffers = 1;
    begin(&peer, false);
    unsigned seq = 1;
    uint32_t buffer = 0;
    for (int phase = 0; phase < 2; phase++) {
        for (int i = 0; i < 30; i++) {
            peer_wait(&peer, round_trips[phase]);
            send_buffer(&peer, buffer++, seq, false);
            seq += 2;
        }
        peer_last_messages(&peer, messages, 128);
        published[phase] = messages[0].control_timer_ms;
    }
    CHECK(published[0] >= 30 && published[0] < 100);
    CHECK(published[1] >= 2000 && published[1] < 6000);
    peer_free(&peer);
}

static void TIMER_04_no_data_timer_runs_before_the_GO_is_acknowledged(void)
{
    struct peer peer;
    peer_init(&peer, NETBLT_RECEIVER, false);
    begin(&peer, false);
    peer_wait(&peer, 30 * SECOND);
    CHECK_EQUAL(peer_info(&peer)->stats.resends_sent, 0);
    peer_null_ack(&peer, 2);
    peer_wait(&peer, 10 * SECOND);
    CHECK(peer_info(&peer)->stats.resends_sent > 0);
    peer_last_messages(&peer, messages, 128);
    CHECK_EQUAL(messages[0].type, RESEND);
    CHECK_EQUAL(messages[0].count, 4); /* AMB-32: all that a full buffer may have */
    peer_free(&peer);
}

static void AMB_35_the_loose_timer_doubles_while_nothing_of_the_buffer_comes(void)
{
    struct peer peer;
    peer_init(&peer, NETBLT_RECEIVER, false);
    peer.params.max_buffers = 1;
    begin(&peer, true);
    netblt_time before = peer.now;
    netblt_time waits[6];
    for (unsigned i = 0; i < 6; i++) {
        peer_mark(&peer);
        while (peer_count(&peer, CONTROL) == 0)
            peer_wait(&peer, MS);
        waits[i] = peer.now - before;
        peer_null_ack(&peer, 2 + i);
        before = peer.now;
        if (i > 0)
            CHECK(waits[i] >= waits[i - 1] * 2 - 2 * MS && waits[i] <= waits[i - 1] * 2 + 2 * MS);
    }
    peer_free(&peer);
}

static void TIMER_05_06_a_packet_tightens_its_own_timer_and_those_of_lower_buffers_but_asks_nothing_at_once(void)
{
    struct peer peer;
    netblt_time loose, tight;
    begin_at_pace(&peer, 100);
    netblt_time start = peer.now;
    while (peer_count(&peer, CONTROL) == 0)
        peer_wait(&peer, MS);
    loose = peer.now - start;
    peer_free(&peer);
    begin_at_pace(&peer, 100);
    start = peer.now;
    peer_data(&peer, 1, 0, 2, false);
    CHECK_EQUAL(peer_count(&peer, CONTROL), 0);
    while (peer_count(&peer, CONTROL) == 0)
        peer_wait(&peer, MS);
    tight = peer.now - start;
    peer_last_messages(&peer, messages, 128);
    CHECK_EQUAL(messages[0].type, RESEND);
    CHECK_EQUAL(messages[0].buffer, 0);
    CHECK(tight < loose);
    CHECK(tight >= 400 * MS); /* four packets at 100 ms: TIMER-09 */
    peer_free(&peer);
}

static void TIMER_07_expiry_asks_for_exactly_what_is_missing(void)
{
    struct peer peer;
    peer_init(&peer, NETBLT_RECEIVER, false);
    peer.params.max_buffers = 1;
    begin(&peer, true);
    peer_data(&peer, 0, 0, 1, false);
    peer_data(&peer, 0, 3, 1, false);
    CHECK_EQUAL(peer_count(&peer, CONTROL), 0); /* RESEND-07: not because LDATA came */
    peer_wait(&peer, SECOND);
    peer_last_messages(&peer, messages, 128);
    CHECK_EQUAL(messages[0].type, RESEND);
    CHECK_EQUAL(messages[0].seq, 2);
    CHECK_EQUAL(messages[0].count, 2);
    CHECK_EQUAL(messages[0].packets[0], 1);
    CHECK_EQUAL(messages[0].packets[1], 2);
    peer_free(&peer);
}

static void RESEND_07_a_packet_that_comes_a_little_late_is_not_asked_for(void)
{
    struct peer peer;
    peer_init(&peer, NETBLT_RECEIVER, false);
    peer.params.max_buffers = 1;
    begin(&peer, true);
    peer_data(&peer, 0, 0, 1, false);
    peer_data(&peer, 0, 1, 1, false);
    peer_data(&peer, 0, 3, 1, false);
    peer_wait(&peer, 10 * MS);
    peer_data(&peer, 0, 2, 1, false);
    peer_last_messages(&peer, messages, 128);
    CHECK_EQUAL(messages[0].type, OK);
    CHECK_EQUAL(peer_info(&peer)->stats.resends_sent, 0);
    peer_free(&peer);
}

/* Microseconds until the first RESEND. */
static netblt_time time_until_resend(struct peer *peer)
{
    netblt_time start = peer->now;
    while (peer_count(peer, CONTROL) == 0)
        peer_wait(peer, MS);
    peer_last_messages(peer, messages, 128);
    CHECK_EQUAL(messages[0].type, RESEND);
    return peer->now - start;
}

static void after_the_LDATA_the_timer_waits_only_for_what_was_reordered(void)
{
    struct peer peer;
    begin_at_pace(&peer, 100);
    peer_data(&peer, 0, 0, 2, false);
    peer_data(&peer, 0, 3, 2, false);
    netblt_time wait = time_until_resend(&peer);
    CHECK(wait >= 20 * MS);
    CHECK(wait <= 22 * MS); /* two packets at 100 ms would be 200 ms */
    peer_free(&peer);
}

static void data_of_a_higher_buffer_show_that_nothing_is_to_come_of_one_that_has_begun(void)
{
    struct peer peer;
    begin_at_pace(&peer, 100);
    peer_data(&peer, 0, 0, 2, false);
    peer_data(&peer, 1, 0, 2, false);
    netblt_time wait = time_until_resend(&peer);
    CHECK_EQUAL(messages[0].buffer, 0);
    CHECK(wait >= 20 * MS);
    CHECK(wait <= 22 * MS);
    peer_free(&peer);
}

/* The first buffer shows how slow a path is: its timer, by the negotiated pace, expires before it is there. */
static void nothing_is_asked_for_while_the_buffer_still_arrives(void)
{
    struct peer peer;
    begin_at_pace(&peer, 5);
    for (unsigned i = 0; i < 4; i++) {
        peer_data(&peer, 0, i, 2, false);
        peer_wait(&peer, 15 * MS); /* the timer: 4 packets at 5 ms, and 20 ms */
    }
    CHECK_EQUAL(peer_info(&peer)->stats.resends_sent, 0);
    CHECK_EQUAL(peer_info(&peer)->stats.data_timeouts, 0);
    peer_free(&peer);
}

static void TIMER_08_a_complete_buffer_is_never_asked_for(void)
{
    struct peer peer;
    peer_init(&peer, NETBLT_RECEIVER, false);
    peer.params.max_buffers = 1;
    peer.stall_from = 1;
    begin(&peer, true);
    send_buffer(&peer, 0, 1, false);
    peer_null_ack(&peer, 2);
    peer_mark(&peer);
    peer_wait(&peer, 40 * SECOND);
    CHECK_EQUAL(peer_count(&peer, CONTROL), 0);
    CHECK(peer_count(&peer, KEEPALIVE) >= 2); /* CTRL-13: no memory, no GO */
    peer_free(&peer);
}

static void RESEND_06_one_open_request_per_buffer(void)
{
    struct peer peer;
    peer_init(&peer, NETBLT_RECEIVER, false);
    peer.params.max_buffers = 1;
    begin(&peer, true);
    peer_data(&peer, 0, 0, 1, false);
    peer_wait(&peer, 50 * SECOND);
    CHECK_EQUAL(peer_info(&peer)->stats.resends_sent, 1);
    CHECK_EQUAL(peer_last_messages(&peer, messages, 128), 1);
    CHECK_EQUAL(messages[0].seq, 2);
    peer_free(&peer);
}

static void RESEND_04_a_packet_lost_again_is_asked_for_again_with_a_new_number(void)
{
    struct peer peer;
    peer_init(&peer, NETBLT_RECEIVER, false);
    peer.params.max_buffers = 1;
    begin(&peer, true);
    for (unsigned i = 0; i < 3; i++)
        peer_data(&peer, 0, i, 1, false);
    for (unsigned round = 0; round < 5; round++) {
        peer_mark(&peer);
        peer_wait(&peer, 3 * SECOND);
        peer_last_messages(&peer, messages, 128);
        CHECK_EQUAL(messages[0].type, RESEND);
        CHECK_EQUAL(messages[0].seq, 2 + round);
        CHECK_EQUAL(messages[0].count, 1);
        CHECK_EQUAL(messages[0].packets[0], 3);
        peer_null_ack(&peer, 2 + round);
    }
    peer_data(&peer, 0, 3, 6, false);
    CHECK(peer_delivered_exactly(&peer, 400));
    peer_free(&peer);
}

static void AMB_33_a_long_list_is_split_and_the_rest_is_asked_for_when_the_first_part_is_acked(void)
{
    struct peer peer;
    peer_init(&peer, NETBLT_RECEIVER, false);
    peer.params.packet_size = 100;
    peer.params.buffer_size = 100 * 700;
    peer.params.max_buffers = 1;
    begin(&peer, true);
    peer_wait(&peer, 2 * SECOND);
    CHECK(peer_last(&peer, CONTROL)->length <= 548);
    CHECK_EQUAL(peer_last_messages(&peer, messages, 128), 1);
    unsigned asked = 0;
    unsigned seq = 2;
    for (; asked < 700; seq++) {
        CHECK_EQUAL(peer_last_messages(&peer, messages, 128), 1);
        CHECK_EQUAL(messages[0].seq, seq);
        for (unsigned i = 0; i < messages[0].count; i++)
            CHECK_EQUAL(messages[0].packets[i], asked + i);
        asked += messages[0].count;
        peer_null_ack(&peer, seq);
    }
    CHECK_EQUAL(asked, 700);
    CHECK_EQUAL(peer_info(&peer)->stats.data_timeouts, 1);
    peer_free(&peer);
}

static void RESEND_01_a_request_that_waits_for_room_names_nothing_that_came_meanwhile(void)
{
    struct peer peer;
    peer_init(&peer, NETBLT_RECEIVER, false);
    peer.params.packet_size = 100;
    peer.params.buffer_size = 100 * 250;
    peer.params.max_buffers = 2;
    begin(&peer, true);
    peer_wait(&peer, 3 * SECOND); /* both data timers have expired; the list of buffer 0 fills a CONTROL */
    CHECK_EQUAL(peer_last_messages(&peer, messages, 128), 1);
    CHECK_EQUAL(messages[0].buffer, 0);
    CHECK_EQUAL(messages[0].count, 250);
    for (unsigned i = 4; i < 104; i++) /* 3 would be an LDATA */
        peer_data(&peer, 1, i, 2, false);
    peer_null_ack(&peer, 3);
    CHECK_EQUAL(peer_last_messages(&peer, messages, 128), 1);
    CHECK_EQUAL(messages[0].seq, 4);
    CHECK_EQUAL(messages[0].buffer, 1);
    CHECK_EQUAL(messages[0].count, 150);
    CHECK_EQUAL(messages[0].packets[3], 3);
    CHECK_EQUAL(messages[0].packets[4], 104);
    peer_free(&peer);
}

static void AMB_33_a_queue_larger_than_a_packet_is_sent_as_a_prefix_and_nothing_is_lost(void)
{
    struct peer peer;
    peer_init(&peer, NETBLT_RECEIVER, false);
    peer.params.max_buffers = 150;
    peer.params.packet_size = 500;
    peer.params.buffer_size = 50000; /* large enough for their bookkeeping (footprint.h) */
    peer_open(&peer);
    unsigned acked = 0;
    while (acked < 150) { /* each ack makes room for the next part of the queue, which leaves at once */
        size_t count = peer_last_messages(&peer, messages, 128);
        CHECK(peer_last(&peer, CONTROL)->length <= 548);
        CHECK_EQUAL(messages[0].seq, acked + 1);
        CHECK_EQUAL(messages[0].buffer, acked);
        CHECK_EQUAL(count, 150 - acked < 67 ? 150 - acked : 67);
        acked += (unsigned)count;
        peer_mark(&peer);
        peer_null_ack(&peer, acked);
    }
    peer_free(&peer);
}

static void TIMER_09_a_sender_slower_than_negotiated_is_given_time_after_a_while(void)
{
    struct peer peer;
    peer_init(&peer, NETBLT_RECEIVER, false);
    peer.params.max_buffers = 1;
    peer.params.burst_size = 1;
    peer.params.burst_interval_ms = 20;
    begin(&peer, false);
    uint64_t late_resends = 0;
    for (uint32_t buffer = 0; buffer < 20; buffer++) {
        for (unsigned i = 0; i < 4; i++) {
            peer_wait(&peer, 60 * MS);
            struct message last[8];
            unsigned seq = 0;
            size_t count = peer_messages(&peer.seen[peer.seen_count - 1], last, 8);
            seq = last[count - 1].seq;
            peer_data(&peer, buffer, i, seq, false);
        }
        if (buffer == 12)
            late_resends = peer_info(&peer)->stats.resends_sent;
    }
    CHECK_EQUAL(peer_info(&peer)->stats.resends_sent, late_resends); /* R1030-07: they fade out */
    peer_free(&peer);
}

static void NULL_ACK_reports_a_slower_pace_and_the_data_timer_heeds_it(void)
{
    struct peer peer;
    struct forged packet;
    peer_init(&peer, NETBLT_RECEIVER, false);
    peer.params.max_buffers = 1;
    begin(&peer, false);
    forge_null_ack(&peer, &packet, 1, 1, 1000);
    peer_send(&peer, &packet);
    peer_wait(&peer, 4 * SECOND);
    CHECK_EQUAL(peer_count(&peer, CONTROL), 0);
    peer_free(&peer);
}

int main(void)
{
    RUN(CTRL_01_GOs_start_at_sequence_1_and_DATA_06_number_buffers_in_order);
    RUN(CTRL_14_OK_follows_completion_with_the_GO_for_the_freed_buffer_in_one_packet);
    RUN(NEG_08_OK_offers_the_fixed_pair_and_CLOSE_07_publishes_the_timer_that_is_armed);
    RUN(CTRL_04_every_CONTROL_holds_all_unacked_messages_in_order);
    RUN(CTRL_02_a_repeated_message_is_the_same_even_if_missing_packets_came_meanwhile);
    RUN(TIMER_01_unacked_messages_are_repeated_until_the_death_timer_with_mild_back_off);
    RUN(TIMER_02_a_full_ack_stops_the_repeats_and_a_partial_one_does_not);
    RUN(AMB_46_an_ack_that_overtakes_a_repeat_leaves_no_empty_CONTROL);
    RUN(TIMER_09_repairs_of_a_lower_buffer_do_not_make_a_higher_one_ask_too_soon);
    RUN(AMB_45_after_a_RESEND_the_timer_is_for_what_is_missing);
    RUN(CTRL_06_an_ack_of_messages_never_sent_is_ignored);
    RUN(TIMER_03_the_control_timer_follows_the_round_trip);
    RUN(TIMER_04_no_data_timer_runs_before_the_GO_is_acknowledged);
    RUN(AMB_35_the_loose_timer_doubles_while_nothing_of_the_buffer_comes);
    RUN(TIMER_05_06_a_packet_tightens_its_own_timer_and_those_of_lower_buffers_but_asks_nothing_at_once);
    RUN(TIMER_07_expiry_asks_for_exactly_what_is_missing);
    RUN(RESEND_07_a_packet_that_comes_a_little_late_is_not_asked_for);
    RUN(after_the_LDATA_the_timer_waits_only_for_what_was_reordered);
    RUN(data_of_a_higher_buffer_show_that_nothing_is_to_come_of_one_that_has_begun);
    RUN(nothing_is_asked_for_while_the_buffer_still_arrives);
    RUN(TIMER_08_a_complete_buffer_is_never_asked_for);
    RUN(RESEND_06_one_open_request_per_buffer);
    RUN(RESEND_04_a_packet_lost_again_is_asked_for_again_with_a_new_number);
    RUN(AMB_33_a_long_list_is_split_and_the_rest_is_asked_for_when_the_first_part_is_acked);
    RUN(RESEND_01_a_request_that_waits_for_room_names_nothing_that_came_meanwhile);
    RUN(AMB_33_a_queue_larger_than_a_packet_is_sent_as_a_prefix_and_nothing_is_lost);
    RUN(TIMER_09_a_sender_slower_than_negotiated_is_given_time_after_a_while);
    RUN(NULL_ACK_reports_a_slower_pace_and_the_data_timer_heeds_it);
    return 0;
}
