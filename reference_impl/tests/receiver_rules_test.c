/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"
#include "peer.h"

#include <string.h>

/* The data receiver, rule by rule, against a peer that is scripted by hand. Standard buffers: 4 packets of 100 bytes.
 */

static struct message messages[128];

/* Opened, both GOs seen, and acknowledged if asked. */
static void begin(struct peer *peer, bool acknowledged)
{
    peer_open(peer);
    CHECK_EQUAL(peer_last_messages(peer, messages, 128), peer->params.max_buffers);
    if (acknowledged)
        peer_null_ack(peer, peer->params.max_buffers);
    peer_mark(peer);
}

static void send_buffer(struct peer *peer, uint32_t buffer, unsigned high_seq, bool last)
{
    for (unsigned i = 0; i < 4; i++)
        peer_data(peer, buffer, i, high_seq, last);
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
    peer.stall_from = 2;
    begin(&peer, false);
    peer_null_ack(&peer, 1);
    peer_wait(&peer, 2 * SECOND);
    bool repeated = false;
    for (size_t i = 0; i < peer_count(&peer, CONTROL); i++) {
        size_t count = peer_messages(peer_nth(&peer, CONTROL, i), messages, 128);
        CHECK(messages[0].seq >= 2);
        repeated |= count > 0 && messages[0].seq == 2 && messages[0].type == GO;
    }
    CHECK(repeated);
    peer_null_ack(&peer, 2 + (unsigned)peer_info(&peer)->stats.resends_sent);
    peer_mark(&peer);
    peer_wait(&peer, 20 * MS);
    CHECK_EQUAL(peer_count(&peer, CONTROL), 0);
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
    peer_init(&peer, NETBLT_RECEIVER, false);
    peer.params.burst_size = 1;
    peer.params.burst_interval_ms = 100;
    begin(&peer, true);
    netblt_time start = peer.now;
    while (peer_count(&peer, CONTROL) == 0)
        peer_wait(&peer, MS);
    loose = peer.now - start;
    peer_free(&peer);

    peer_init(&peer, NETBLT_RECEIVER, false);
    peer.params.burst_size = 1;
    peer.params.burst_interval_ms = 100;
    begin(&peer, true);
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

static void AMB_33_a_queue_larger_than_a_packet_is_sent_as_a_prefix_and_nothing_is_lost(void)
{
    struct peer peer;
    peer_init(&peer, NETBLT_RECEIVER, false);
    peer.params.max_buffers = 150;
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

static void DATA_07_order_and_duplicates_do_not_matter(void)
{
    struct peer peer;
    peer_init(&peer, NETBLT_RECEIVER, false);
    begin(&peer, true);
    for (int i = 3; i >= 0; i--) {
        peer_data(&peer, 0, (unsigned)i, 2, false);
        peer_data(&peer, 0, (unsigned)i, 2, false);
    }
    CHECK(peer_delivered_exactly(&peer, 400));
    CHECK_EQUAL(peer.deliveries, 1);
    peer_last_messages(&peer, messages, 128);
    CHECK_EQUAL(messages[0].type, OK);
    peer_free(&peer);
}

static void DATA_08_a_higher_buffer_is_OKed_at_once_but_delivered_after_the_lower_one(void)
{
    struct peer peer;
    peer_init(&peer, NETBLT_RECEIVER, false);
    peer.size = 4000;
    begin(&peer, true);
    send_buffer(&peer, 1, 2, false);
    peer_last_messages(&peer, messages, 128);
    CHECK_EQUAL(messages[0].type, OK);
    CHECK_EQUAL(messages[0].buffer, 1);
    CHECK_EQUAL(messages[1].type, GO); /* a new GO follows any completed buffer: AMB-29 */
    CHECK_EQUAL(messages[1].buffer, 2);
    CHECK_EQUAL(peer.deliveries, 0);
    send_buffer(&peer, 0, 4, false);
    CHECK_EQUAL(peer.deliveries, 2);
    CHECK(peer_delivered_exactly(&peer, 800));
    peer_free(&peer);
}

static void any_order_delivers_a_buffer_when_it_is_complete(void)
{
    struct peer peer;
    peer_init(&peer, NETBLT_RECEIVER, false);
    peer.options.any_order = true;
    begin(&peer, true);
    send_buffer(&peer, 1, 2, true);
    CHECK_EQUAL(peer.deliveries, 1);
    CHECK_EQUAL(peer.last_delivered_index, 1);
    CHECK(peer.last_was_delivered);
    send_buffer(&peer, 0, 2, false);
    peer_null_ack(&peer, 4);
    CHECK(peer_delivered_exactly(&peer, 800));
    CHECK_EQUAL(peer.result, NETBLT_DONE);
    CHECK_EQUAL(peer_count(&peer, DONE), 1);
    peer_free(&peer);
}

static void DATA_12_GOs_wait_for_client_memory(void)
{
    struct peer peer;
    peer_init(&peer, NETBLT_RECEIVER, false);
    peer.params.max_buffers = 4;
    peer.client_buffers = 2;
    peer_open(&peer);
    CHECK_EQUAL(peer_last_messages(&peer, messages, 128), 2);
    peer_null_ack(&peer, 2);
    peer_mark(&peer);
    send_buffer(&peer, 1, 2, false); /* complete, but its memory is still in use */
    CHECK_EQUAL(peer_last_messages(&peer, messages, 128), 1);
    send_buffer(&peer, 0, 2, false);
    CHECK_EQUAL(peer_last_messages(&peer, messages, 128), 4);
    CHECK_EQUAL(messages[2].type, GO);
    CHECK_EQUAL(messages[3].buffer, 3);
    peer_free(&peer);
}

static void DATA_10_no_GO_after_L_and_AMB_30_buffers_above_it_are_dropped(void)
{
    struct peer peer;
    peer_init(&peer, NETBLT_RECEIVER, false);
    peer.params.max_buffers = 4;
    begin(&peer, true);
    peer_data(&peer, 0, 1, 4, true);
    CHECK_EQUAL(peer.held, 1);
    peer_wait(&peer, 5 * SECOND);
    peer_last_messages(&peer, messages, 128);
    for (size_t i = 0; i < peer_count(&peer, CONTROL); i++) {
        size_t count = peer_messages(peer_nth(&peer, CONTROL, i), messages, 128);
        for (size_t k = 0; k < count; k++)
            CHECK(messages[k].type == RESEND && messages[k].buffer == 0);
    }
    send_buffer(&peer, 0, 5, true);
    CHECK_EQUAL(peer_last_messages(&peer, messages, 128), 1);
    CHECK_EQUAL(messages[0].type, OK);
    peer_null_ack(&peer, 6);
    CHECK_EQUAL(peer.result, NETBLT_DONE);
    peer_free(&peer);
}

static void AMB_41_an_empty_transfer_and_last_buffers_of_any_size_are_accepted(void)
{
    static const struct {
        unsigned number;
        size_t length;
        bool beyond; /* LDATA follows full packets */
    } ends[] = {{0, 0, false}, {0, 1, false}, {0, 100, false}, {2, 37, true}, {3, 100, true}, {2, 0, true}};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        struct peer peer;
        struct forged packet;
        peer_init(&peer, NETBLT_RECEIVER, false);
        begin(&peer, true);
        for (unsigned k = 0; k < ends[i].number; k++)
            peer_data(&peer, 0, k, 2, true);
        forge_data(&peer, &packet, LDATA, 0, ends[i].number, 2, true, peer.data + 100 * ends[i].number, ends[i].length,
                   false);
        peer_send(&peer, &packet);
        CHECK(peer_delivered_exactly(&peer, 100 * ends[i].number + ends[i].length));
        CHECK(peer.last_was_delivered);
        peer_null_ack(&peer, 3);
        CHECK_EQUAL(peer.result, NETBLT_DONE);
        peer_free(&peer);
    }
}

static void AMB_02_pad_bytes_beyond_Length_and_a_Length_rounded_up_are_understood(void)
{
    for (int rounded = 0; rounded < 2; rounded++) {
        struct peer peer;
        struct forged packet;
        uint8_t padded[104] = {0};
        peer_init(&peer, NETBLT_RECEIVER, false);
        peer.params.packet_size = 99;
        peer.params.buffer_size = 99 * 2 + 1;
        peer.params.data_checksum = true;
        begin(&peer, true);
        for (unsigned k = 0; k < 3; k++) {
            size_t length = k < 2 ? 99 : 1;
            memset(padded, 0, sizeof padded);
            memcpy(padded, peer.data + 99 * k, length);
            size_t up = (length + 3) / 4 * 4;
            forge_data(&peer, &packet, k == 2 ? LDATA : DATA, 0, k, 2, false, padded, rounded ? up : length, true);
            packet.size = 24 + up;
            memset(packet.bytes + 24 + length, rounded ? 0 : 0xAA, up - length);
            peer_send(&peer, &packet);
        }
        CHECK(peer_delivered_exactly(&peer, 199));
        peer_free(&peer);
    }
}

static void CKSUM_07_bad_data_is_not_stored_when_C_is_1_and_CKSUM_05_the_field_is_ignored_when_not(void)
{
    for (int c = 0; c < 2; c++) {
        struct peer peer;
        struct forged packet;
        peer_init(&peer, NETBLT_RECEIVER, false);
        peer.params.data_checksum = c != 0;
        begin(&peer, true);
        for (unsigned k = 0; k < 3; k++)
            peer_data(&peer, 0, k, 2, false);
        forge_data(&peer, &packet, LDATA, 0, 3, 2, false, peer.data + 300, 100, true);
        forged_put16(&packet, 20, peer_get16(packet.bytes + 20) ^ 0x0101);
        peer_send(&peer, &packet);
        CHECK_EQUAL(peer.deliveries, c == 0);
        if (c != 0) {
            CHECK_EQUAL(peer_info(&peer)->stats.checksum_errors, 1);
            peer_wait(&peer, SECOND);
            peer_last_messages(&peer, messages, 128);
            CHECK_EQUAL(messages[0].type, RESEND);
            CHECK_EQUAL(messages[0].packets[0], 3);
            peer_data(&peer, 0, 3, 2, false);
            CHECK(peer_delivered_exactly(&peer, 400));
        }
        peer_free(&peer);
    }
}

static void AMB_60_the_ack_of_a_packet_counts_even_if_its_data_does_not(void)
{
    struct peer peer;
    struct forged packet;
    peer_init(&peer, NETBLT_RECEIVER, false);
    peer.params.data_checksum = true;
    begin(&peer, false);
    forge_data(&peer, &packet, DATA, 0, 0, 2, false, peer.data, 100, true);
    packet.bytes[50] ^= 1;
    peer_send(&peer, &packet);
    peer_wait(&peer, 30 * MS);
    CHECK_EQUAL(peer_count(&peer, CONTROL), 0);
    peer_wait(&peer, 5 * SECOND);
    peer_last_messages(&peer, messages, 128);
    CHECK_EQUAL(messages[0].seq, 3);
    peer_free(&peer);
}

static void ROBUST_06_impossible_data_is_never_stored(void)
{
    static const struct {
        int type;
        uint32_t buffer;
        unsigned number;
        size_t length;
        bool last;
    } impossible[] = {
        {DATA, 2, 0, 100, false},          /* never GO'd */
        {DATA, UINT32_MAX, 0, 100, false}, /* before the first */
        {DATA, 0, 4, 100, false},          /* past the buffer */
        {DATA, 0, 65535, 100, false},      /* far past it */
        {LDATA, 0, 4, 100, true},          /* */
        {DATA, 0, 0, 99, false},           /* short */
        {DATA, 0, 0, 101, false},          /* long */
        {DATA, 0, 0, 1400, false},         /* much too long */
        {DATA, 0, 0, 0, false},            /* nothing */
        {LDATA, 0, 3, 99, false},          /* a buffer that is not the last is full */
        {LDATA, 0, 2, 100, false},         /* */
        {LDATA, 0, 0, 101, true},          /* */
        {DATA, 0, 3, 100, false},          /* the last number is LDATA's */
    };
    static const uint8_t rubbish[1400] = {0xEE};
    struct peer peer;
    peer_init(&peer, NETBLT_RECEIVER, false);
    begin(&peer, true);
    for (size_t i = 0; i < sizeof impossible / sizeof *impossible; i++) {
        struct forged packet;
        forge_data(&peer, &packet, impossible[i].type, impossible[i].buffer, impossible[i].number, 2,
                   impossible[i].last, rubbish, impossible[i].length, false);
        peer_send(&peer, &packet);
        CHECK_EQUAL(peer_info(&peer)->stats.data_packets_duplicate, i + 1);
    }
    send_buffer(&peer, 0, 2, false);
    CHECK(peer_delivered_exactly(&peer, 400));
    peer_free(&peer);
}

static void ROBUST_06_an_LDATA_that_contradicts_what_is_there_is_not_stored(void)
{
    struct peer peer;
    struct forged packet;
    peer_init(&peer, NETBLT_RECEIVER, false);
    begin(&peer, true);
    peer_data(&peer, 0, 2, 2, true);
    forge_data(&peer, &packet, LDATA, 0, 1, 2, true, peer.data, 50, false); /* below a packet that exists */
    peer_send(&peer, &packet);
    peer_data(&peer, 0, 3, 2, true);
    forge_data(&peer, &packet, LDATA, 0, 2, 2, true, peer.data, 50, false); /* a second LDATA */
    peer_send(&peer, &packet);
    peer_data(&peer, 0, 0, 2, true);
    CHECK_EQUAL(peer.deliveries, 0);
    peer_data(&peer, 0, 1, 2, true);
    CHECK(peer_delivered_exactly(&peer, 400));
    peer_free(&peer);
}

static void ROBUST_06_L_on_a_second_buffer_or_below_data_is_not_believed(void)
{
    struct peer peer;
    peer_init(&peer, NETBLT_RECEIVER, false);
    begin(&peer, true);
    peer_data(&peer, 1, 0, 2, false);
    peer_data(&peer, 0, 0, 2, true); /* buffer 1 exists */
    send_buffer(&peer, 0, 2, false);
    CHECK(peer_delivered_exactly(&peer, 400));
    CHECK(!peer.last_was_delivered);
    for (unsigned i = 0; i < 4; i++)
        peer_data(&peer, 1, i, 4, true);
    CHECK(peer_delivered_exactly(&peer, 800));
    CHECK(peer.last_was_delivered);
    peer_free(&peer);
}

static void AMB_40_L_on_any_packet_of_the_buffer_is_enough(void)
{
    struct peer peer;
    peer_init(&peer, NETBLT_RECEIVER, false);
    begin(&peer, true);
    for (unsigned i = 0; i < 4; i++)
        peer_data(&peer, 0, i, 2, i == 1);
    CHECK(peer.last_was_delivered);
    peer_null_ack(&peer, 3);
    CHECK_EQUAL(peer.result, NETBLT_DONE);
    peer_free(&peer);
}

static void CLOSE_01_not_done_before_every_message_is_acked_and_no_buffer_misses_packets(void)
{
    struct peer peer;
    peer_init(&peer, NETBLT_RECEIVER, false);
    begin(&peer, true);
    send_buffer(&peer, 1, 2, true); /* the last is complete, an earlier one is not */
    peer_null_ack(&peer, 3);
    peer_wait(&peer, SECOND);
    CHECK_EQUAL(peer.finished, 0);
    send_buffer(&peer, 0, 3, false);
    CHECK_EQUAL(peer.finished, 0); /* its OK is not acknowledged */
    size_t before = peer_count(&peer, CONTROL);
    peer_wait(&peer, 3 * SECOND);
    CHECK(peer_count(&peer, CONTROL) > before);
    CHECK_EQUAL(peer_count(&peer, DONE), 0);
    size_t count = peer_last_messages(&peer, messages, 128);
    peer_null_ack(&peer, messages[count - 1].seq);
    CHECK_EQUAL(peer_count(&peer, DONE), 1);
    CHECK_EQUAL(peer.result, NETBLT_DONE);
    CHECK_EQUAL(peer.closed, 1);
    peer_mark(&peer);
    peer_null_ack(&peer, 5); /* AMB-55: silence for what comes late */
    peer_wait(&peer, 200 * SECOND);
    CHECK_EQUAL(peer_count(&peer, -1), 0);
    CHECK_EQUAL(netblt_deadline(peer.endpoint), NETBLT_TIME_NEVER);
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

static void ROBUST_08_packets_of_the_wrong_direction_are_ignored(void)
{
    struct peer peer;
    peer_init(&peer, NETBLT_RECEIVER, false);
    begin(&peer, true);
    peer_go(&peer, 1, 0);
    peer_ok(&peer, 2, 0);
    peer_bare(&peer, DONE);
    CHECK_EQUAL(peer_count(&peer, -1), 0);
    CHECK_EQUAL(peer.finished, 0);
    send_buffer(&peer, 0, 2, true);
    CHECK(peer_delivered_exactly(&peer, 400));
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
    RUN(CTRL_06_an_ack_of_messages_never_sent_is_ignored);
    RUN(TIMER_03_the_control_timer_follows_the_round_trip);
    RUN(TIMER_04_no_data_timer_runs_before_the_GO_is_acknowledged);
    RUN(AMB_35_the_loose_timer_doubles_while_nothing_of_the_buffer_comes);
    RUN(TIMER_05_06_a_packet_tightens_its_own_timer_and_those_of_lower_buffers_but_asks_nothing_at_once);
    RUN(TIMER_07_expiry_asks_for_exactly_what_is_missing);
    RUN(RESEND_07_a_packet_that_comes_a_little_late_is_not_asked_for);
    RUN(TIMER_08_a_complete_buffer_is_never_asked_for);
    RUN(RESEND_06_one_open_request_per_buffer);
    RUN(RESEND_04_a_packet_lost_again_is_asked_for_again_with_a_new_number);
    RUN(AMB_33_a_long_list_is_split_and_the_rest_is_asked_for_when_the_first_part_is_acked);
    RUN(AMB_33_a_queue_larger_than_a_packet_is_sent_as_a_prefix_and_nothing_is_lost);
    RUN(DATA_07_order_and_duplicates_do_not_matter);
    RUN(DATA_08_a_higher_buffer_is_OKed_at_once_but_delivered_after_the_lower_one);
    RUN(any_order_delivers_a_buffer_when_it_is_complete);
    RUN(DATA_12_GOs_wait_for_client_memory);
    RUN(DATA_10_no_GO_after_L_and_AMB_30_buffers_above_it_are_dropped);
    RUN(AMB_41_an_empty_transfer_and_last_buffers_of_any_size_are_accepted);
    RUN(AMB_02_pad_bytes_beyond_Length_and_a_Length_rounded_up_are_understood);
    RUN(CKSUM_07_bad_data_is_not_stored_when_C_is_1_and_CKSUM_05_the_field_is_ignored_when_not);
    RUN(AMB_60_the_ack_of_a_packet_counts_even_if_its_data_does_not);
    RUN(ROBUST_06_impossible_data_is_never_stored);
    RUN(ROBUST_06_an_LDATA_that_contradicts_what_is_there_is_not_stored);
    RUN(ROBUST_06_L_on_a_second_buffer_or_below_data_is_not_believed);
    RUN(AMB_40_L_on_any_packet_of_the_buffer_is_enough);
    RUN(CLOSE_01_not_done_before_every_message_is_acked_and_no_buffer_misses_packets);
    RUN(TIMER_09_a_sender_slower_than_negotiated_is_given_time_after_a_while);
    RUN(NULL_ACK_reports_a_slower_pace_and_the_data_timer_heeds_it);
    RUN(ROBUST_08_packets_of_the_wrong_direction_are_ignored);
    return 0;
}
