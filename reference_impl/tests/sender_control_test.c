/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests of the data sender, rule by rule, against a scripted peer: how it processes control messages, and which it
 * acknowledges. Standard buffers: 4 packets of 100 bytes. */
#include "check.h"
#include "peer.h"

#include <string.h>

static void AMB_09_the_first_GO_names_the_first_buffer(void)
{
    struct peer peer;
    peer_init(&peer, NETBLT_SENDER, false);
    peer_open(&peer);
    peer_go(&peer, 1, 4000000000u);
    CHECK_EQUAL(peer_nth_data(&peer, 0)->buffer, 4000000000u);
    CHECK(memcmp(peer_nth_data(&peer, 0)->bytes + 24, peer.data, 100) == 0);
    peer_free(&peer);
}

static void CTRL_15_GOs_past_the_end_are_acknowledged_and_ignored(void)
{
    struct peer peer;
    struct forged control;
    peer_init(&peer, NETBLT_SENDER, false);
    peer.size = 100;
    peer.params.max_buffers = 8;
    peer_open(&peer);
    forge(&peer, &control, CONTROL);
    for (unsigned i = 0; i < 8; i++)
        forge_go(&control, i + 1, i);
    peer_send(&peer, &control);
    peer_wait(&peer, SECOND);
    CHECK_EQUAL(peer_count_data(&peer), 1);
    CHECK_EQUAL(peer_nth(&peer, LDATA, 0)->high_seq, 8);
    peer_ok(&peer, 9, 0);
    CHECK_EQUAL(peer.result, NETBLT_DONE);
    CHECK_EQUAL(peer_last(&peer, NULL_ACK)->high_seq, 9);
    peer_free(&peer);
}

static void CTRL_06_high_seq_is_the_highest_consecutive_number_and_CTRL_07_holes_are_not_acked(void)
{
    struct peer peer;
    peer_init(&peer, NETBLT_SENDER, false);
    peer.size = 4000;
    peer.params.max_buffers = 8;
    peer_open(&peer);
    peer_go(&peer, 1, 0);
    CHECK_EQUAL(peer_nth_data(&peer, 0)->high_seq, 1);
    peer_mark(&peer);
    peer_go(&peer, 3, 2);
    CHECK_EQUAL(peer_nth(&peer, NULL_ACK, 0)->high_seq, 1);
    CHECK_EQUAL(peer_count_data(&peer), 0); /* it waits for the lower GO: AMB-36 */
    peer_mark(&peer);
    peer_go(&peer, 2, 1);
    CHECK_EQUAL(peer_nth_data(&peer, 0)->high_seq, 3);
    CHECK_EQUAL(peer_count_data(&peer), 8); /* CTRL-08 */
    CHECK_EQUAL(peer_nth_data(&peer, 0)->buffer, 1);
    peer_free(&peer);
}

static void CTRL_08_even_the_very_first_messages_may_come_in_the_wrong_order(void)
{
    struct peer peer;
    peer_init(&peer, NETBLT_SENDER, false);
    peer_open(&peer);
    peer_go(&peer, 2, 8);
    CHECK_EQUAL(peer_nth(&peer, NULL_ACK, 0)->high_seq, 0);
    CHECK_EQUAL(peer_count_data(&peer), 0);
    peer_go(&peer, 1, 7);
    CHECK_EQUAL(peer_count_data(&peer), 8);
    CHECK_EQUAL(peer_nth_data(&peer, 0)->buffer, 7);
    CHECK_EQUAL(peer_nth_data(&peer, 0)->high_seq, 2);
    peer_free(&peer);
}

static void AMB_47_a_GO_in_control_sequence_is_served_whatever_its_step(void)
{
    static const uint32_t numbers[] = {7, 9, 10, 4000000};
    struct peer peer;
    peer_init(&peer, NETBLT_SENDER, false);
    peer.size = 1600;
    peer.params.max_buffers = 4;
    peer_open(&peer);
    for (unsigned i = 0; i < 4; i++) {
        peer_mark(&peer);
        peer_go(&peer, i + 1, numbers[i]);
        CHECK_EQUAL(peer_count_data(&peer), 4);
        CHECK_EQUAL(peer_nth_data(&peer, 0)->buffer, numbers[i]);
        CHECK_EQUAL(peer_nth_data(&peer, 0)->high_seq, i + 1);
        CHECK(memcmp(peer_nth_data(&peer, 0)->bytes + 24, peer.data + 400 * i, 100) == 0);
    }
    uint16_t list[] = {1};
    peer_mark(&peer);
    peer_resend(&peer, 5, 9, list, 1);
    CHECK_EQUAL(peer_times_sent(&peer, 9, 1), 1);
    for (unsigned i = 0; i < 4; i++)
        peer_ok(&peer, 6 + i, numbers[i]);
    CHECK_EQUAL(peer.result, NETBLT_DONE);
    peer_free(&peer);
}

static void AMB_47_a_GO_behind_a_hole_waits_for_the_lower_one_also_when_numbers_skip(void)
{
    struct peer peer;
    peer_init(&peer, NETBLT_SENDER, false);
    peer.size = 4000;
    peer.params.max_buffers = 8;
    peer_open(&peer);
    peer_go(&peer, 1, 0);
    peer_mark(&peer);
    peer_go(&peer, 4, 6);
    peer_go(&peer, 3, 4);
    CHECK_EQUAL(peer_count_data(&peer), 0);
    peer_go(&peer, 2, 2); /* from here on no lower GO can be under way */
    CHECK_EQUAL(peer_count_data(&peer), 12);
    for (unsigned i = 0; i < 3; i++)
        CHECK_EQUAL(peer_nth_data(&peer, 4 * i)->buffer, 2 + 2 * i);
    peer_free(&peer);
}

static void AMB_48_an_OK_for_a_number_that_was_skipped_is_one_for_data_that_were_never_sent(void)
{
    struct peer peer;
    peer_init(&peer, NETBLT_SENDER, false);
    peer_open(&peer);
    peer_go(&peer, 1, 0);
    peer_go(&peer, 2, 2);
    peer_ok(&peer, 3, 1);
    CHECK_EQUAL(peer_info(&peer)->stats.payload_bytes, 0);
    CHECK_EQUAL(peer.result, NETBLT_LOCAL_ABORT);
    peer_free(&peer);
}

static void AMB_47_skipping_GOs_beyond_the_bound_are_served_when_they_are_repeated(void)
{
    enum { GOS = 200 };
    struct peer peer;
    struct forged control;
    peer_init(&peer, NETBLT_SENDER, false);
    peer.params.max_buffers = GOS;
    peer.size = 400 * GOS;
    peer_open(&peer);
    for (int round = 0; round < 8 && peer_count(&peer, LDATA) < GOS; round++) {
        forge(&peer, &control, CONTROL);
        for (unsigned i = 0; i < GOS; i++)
            forge_go(&control, i + 1, 3 * i);
        peer_send(&peer, &control);
    }
    CHECK_EQUAL(peer_count(&peer, LDATA), GOS);
    CHECK_EQUAL(peer_last(&peer, LDATA)->buffer, 3 * (GOS - 1));
    peer_free(&peer);
}

static void AMB_12_sequence_numbers_wrap_through_zero(void)
{
    struct peer peer;
    uint16_t list[] = {0};
    peer_init(&peer, NETBLT_SENDER, false);
    peer_open(&peer);
    peer_go(&peer, 1, 0);
    for (unsigned seq = 2; seq <= 65535 + 3; seq++) {
        peer_mark(&peer);
        peer_resend(&peer, seq % 65536, 0, list, 1);
        CHECK_EQUAL(peer_count_data(&peer), 1);
        CHECK_EQUAL(peer_nth_data(&peer, 0)->high_seq, seq % 65536);
    }
    peer_free(&peer);
}

static void CTRL_09_a_repeated_message_is_served_once_and_acknowledged_again(void)
{
    struct peer peer;
    uint16_t list[] = {2};
    peer_init(&peer, NETBLT_SENDER, true);
    peer_open(&peer);
    peer_go(&peer, 1, 0);
    peer_mark(&peer);
    for (int i = 0; i < 5; i++) {
        peer_resend(&peer, 2, 0, list, 1); /* equal to high-seq from the second time on: AMB-37 */
        peer_go(&peer, 1, 0);
        peer_wait(&peer, SECOND);
    }
    CHECK_EQUAL(peer_count_data(&peer), 1);
    CHECK(peer_count(&peer, NULL_ACK) >= 9); /* CTRL-10 */
    CHECK_EQUAL(peer_last(&peer, NULL_ACK)->high_seq, 2);
    peer_free(&peer);
}

static void CTRL_10_a_CONTROL_is_answered_at_once_by_NULL_ACK_when_no_data_waits(void)
{
    struct peer peer;
    peer_init(&peer, NETBLT_SENDER, true);
    peer.stall_from = 0;
    peer_open(&peer);
    peer_go(&peer, 1, 0);
    CHECK_EQUAL(peer_count(&peer, NULL_ACK), 1);
    CHECK_EQUAL(peer_nth(&peer, NULL_ACK, 0)->high_seq, 1);
    CHECK_EQUAL(peer_nth(&peer, NULL_ACK, 0)->at, peer.now);
    peer_free(&peer);
}

static void AMB_34_data_that_leaves_soon_carries_the_ack_instead_of_a_NULL_ACK(void)
{
    struct peer peer;
    peer_init(&peer, NETBLT_SENDER, true);
    peer.params.burst_size = 1;
    peer.params.burst_interval_ms = 50;
    peer.size = 4000;
    peer_open(&peer);
    peer_go(&peer, 1, 0);
    peer_wait(&peer, 10 * MS);
    peer_mark(&peer);
    peer_go(&peer, 2, 1);
    peer_wait(&peer, 45 * MS);
    CHECK_EQUAL(peer_count(&peer, NULL_ACK), 0);
    CHECK_EQUAL(peer_nth_data(&peer, 0)->high_seq, 2);
    peer_free(&peer);
}

static void AMB_34_slow_bursts_do_not_hold_an_ack_back(void)
{
    struct peer peer;
    peer_init(&peer, NETBLT_SENDER, true);
    peer.params.burst_size = 1;
    peer.params.burst_interval_ms = 20000;
    peer_open(&peer);
    peer_go(&peer, 1, 0);
    peer_mark(&peer);
    peer_go(&peer, 2, 1);
    peer_wait(&peer, SECOND);
    CHECK_EQUAL(peer_nth(&peer, NULL_ACK, 0)->high_seq, 2);
    peer_free(&peer);
}

static void AMB_46_an_empty_CONTROL_is_harmless(void)
{
    struct peer peer;
    struct forged control;
    peer_init(&peer, NETBLT_SENDER, true);
    peer_open(&peer);
    peer_mark(&peer);
    forge(&peer, &control, CONTROL);
    peer_send(&peer, &control);
    CHECK_EQUAL(peer_count(&peer, -1), 0);
    peer_go(&peer, 1, 0);
    CHECK_EQUAL(peer_count_data(&peer), 4);
    peer_free(&peer);
}

static void CTRL_12_all_messages_of_one_packet_take_effect(void)
{
    struct peer peer;
    struct forged control;
    uint16_t list[] = {1};
    peer_init(&peer, NETBLT_SENDER, false);
    peer.size = 1200;
    peer_open(&peer);
    peer_go(&peer, 1, 0);
    peer_go(&peer, 2, 1);
    peer_mark(&peer);
    forge(&peer, &control, CONTROL);
    forge_ok(&control, 3, 0, 1000, 0, 100);
    forge_resend(&control, 4, 1, list, 1);
    forge_go(&control, 5, 2);
    peer_send(&peer, &control);
    CHECK_EQUAL(peer_count_data(&peer), 5);
    CHECK_EQUAL(peer_nth_data(&peer, 0)->buffer, 1);
    CHECK_EQUAL(peer_nth_data(&peer, 0)->packet, 1);
    CHECK_EQUAL(peer_nth_data(&peer, 1)->buffer, 2);
    CHECK_EQUAL(peer_nth_data(&peer, 0)->high_seq, 5);
    peer_free(&peer);
}

static void RESEND_05_numbers_past_the_LDATA_are_ignored_and_the_rest_is_served(void)
{
    struct peer peer;
    uint16_t list[] = {0, 1, 2, 3, 65535};
    peer_init(&peer, NETBLT_SENDER, false);
    peer.size = 150;
    peer_open(&peer);
    peer_go(&peer, 1, 0);
    peer_mark(&peer);
    peer_resend(&peer, 2, 0, list, 5);
    CHECK_EQUAL(peer_count_data(&peer), 2);
    CHECK_EQUAL(peer_nth_data(&peer, 1)->high_seq, 2);
    peer_free(&peer);
}

static void RESEND_08_senseless_requests_are_acknowledged_and_send_nothing(void)
{
    struct peer peer;
    uint16_t list[] = {0};
    peer_init(&peer, NETBLT_SENDER, false);
    peer.size = 4000;
    peer_open(&peer);
    peer_go(&peer, 1, 0);
    peer_go(&peer, 2, 1);
    peer_ok(&peer, 3, 0);
    peer_wait(&peer, SECOND);
    peer_mark(&peer);
    peer_resend(&peer, 4, 0, list, 1);          /* has its OK */
    peer_resend(&peer, 5, 77, list, 1);         /* unknown */
    peer_resend(&peer, 6, UINT32_MAX, list, 1); /* before the first */
    peer_resend(&peer, 7, 1, NULL, 0);          /* requests nothing */
    peer_wait(&peer, SECOND);
    CHECK_EQUAL(peer_count_data(&peer), 0);
    CHECK_EQUAL(peer_last(&peer, NULL_ACK)->high_seq, 7);
    CHECK_EQUAL(peer.finished, 0);
    peer_free(&peer);
}

static void RESEND_08_packets_still_waiting_for_their_first_transmission_are_not_doubled(void)
{
    struct peer peer;
    uint16_t list[] = {0, 1, 2, 3};
    peer_init(&peer, NETBLT_SENDER, false);
    peer.params.burst_size = 1;
    peer.params.burst_interval_ms = 10;
    peer_open(&peer);
    peer_go(&peer, 1, 0); /* packet 0 leaves */
    peer_resend(&peer, 2, 0, list, 4);
    peer_resend(&peer, 3, 0, list, 4); /* and a repeat that is queued already is not doubled either */
    peer_wait(&peer, SECOND);
    CHECK_EQUAL(peer_times_sent(&peer, 0, 0), 2);
    for (unsigned i = 1; i < 4; i++)
        CHECK_EQUAL(peer_times_sent(&peer, 0, i), 1);
    peer_free(&peer);
}

static void AMB_35_a_RESEND_for_a_buffer_that_the_client_has_not_filled_is_a_no_op(void)
{
    struct peer peer;
    uint16_t list[] = {0, 1, 2, 3};
    peer_init(&peer, NETBLT_SENDER, true);
    peer.stall_from = 0;
    peer_open(&peer);
    peer_go(&peer, 1, 0);
    peer_resend(&peer, 2, 0, list, 4);
    peer_wait(&peer, SECOND);
    peer.stall_from = UINT64_MAX;
    netblt_resume(peer.connection, peer.now);
    peer_wait(&peer, SECOND);
    for (unsigned i = 0; i < 4; i++)
        CHECK_EQUAL(peer_times_sent(&peer, 0, i), 1);
    peer_free(&peer);
}

static void CTRL_07_data_that_leaves_while_a_hole_exists_does_not_ack_beyond_it(void)
{
    struct peer peer;
    peer_init(&peer, NETBLT_SENDER, false);
    peer.size = 4000;
    peer.params.max_buffers = 8;
    peer.params.burst_size = 1;
    peer.params.burst_interval_ms = 10;
    peer_open(&peer);
    peer_go(&peer, 1, 0);
    peer_mark(&peer);
    peer_go(&peer, 3, 2);
    peer_go(&peer, 5, 4);
    peer_wait(&peer, SECOND);
    for (size_t i = 0; i < 3; i++)
        CHECK_EQUAL(peer_nth_data(&peer, i)->high_seq, 1);
    CHECK_EQUAL(peer_count_data(&peer), 3);
    peer_go(&peer, 2, 1);
    CHECK_EQUAL(peer_nth_data(&peer, 3)->high_seq, 3);
    peer_free(&peer);
}

static void NEG_09_a_restriction_is_reported_at_once_even_if_data_could_carry_the_ack(void)
{
    struct peer peer;
    struct forged control;
    peer_init(&peer, NETBLT_SENDER, false);
    peer.params.burst_size = 4;
    peer.params.burst_interval_ms = 20;
    peer.size = 4000;
    peer_open(&peer);
    peer_go(&peer, 1, 0);
    peer_go(&peer, 2, 1); /* buffer 1 waits for its burst */
    peer_mark(&peer);
    forge(&peer, &control, CONTROL);
    forge_ok(&control, 3, 0, 5, 20, 100);
    peer_send(&peer, &control);
    CHECK_EQUAL(peer_count(&peer, NULL_ACK), 1);
    CHECK_EQUAL(peer_get16(peer_nth(&peer, NULL_ACK, 0)->bytes + 14), 4);
    peer_wait(&peer, SECOND);
    CHECK_EQUAL(peer_count(&peer, NULL_ACK), 1);
    peer_free(&peer);
}

static void NEG_09_an_offer_beyond_our_limit_is_restricted_and_reported(void)
{
    struct peer peer;
    struct forged control;
    peer_init(&peer, NETBLT_SENDER, true);
    peer.params.burst_size = 4;
    peer.params.burst_interval_ms = 20;
    peer.size = 4000;
    peer_open(&peer);
    peer_go(&peer, 1, 0);
    peer_go(&peer, 2, 1);
    peer_wait(&peer, SECOND);
    peer_mark(&peer);
    forge(&peer, &control, CONTROL);
    forge_ok(&control, 3, 0, 1000, 1, 100);
    peer_send(&peer, &control);
    const struct seen *report = peer_nth(&peer, NULL_ACK, 0);
    CHECK_EQUAL(report->high_seq, 3);
    CHECK_EQUAL(peer_get16(report->bytes + 14), 4);
    CHECK_EQUAL(peer_get16(report->bytes + 16), 20);
    peer_free(&peer);
}

static void AMB_48_an_OK_for_a_buffer_that_was_never_sent_is_an_ABORT_not_a_success(void)
{
    struct peer peer;
    peer_init(&peer, NETBLT_SENDER, false);
    peer.stall_from = 1;
    peer_open(&peer);
    peer_go(&peer, 1, 0);
    peer_go(&peer, 2, 1);
    peer_ok(&peer, 3, 1);
    CHECK_EQUAL(peer_count(&peer, ABORT), 1);
    CHECK_EQUAL(peer.result, NETBLT_LOCAL_ABORT);
    CHECK_EQUAL(peer.closed, 1);
    peer_free(&peer);
}

static void ROBUST_07_an_OK_for_a_half_sent_buffer_and_a_premature_DONE_are_not_believed(void)
{
    struct peer peer;
    peer_init(&peer, NETBLT_SENDER, false);
    peer.params.burst_size = 1;
    peer.params.burst_interval_ms = 10;
    peer.size = 400;
    peer_open(&peer);
    peer_go(&peer, 1, 0);
    peer_ok(&peer, 2, 0);
    peer_bare(&peer, DONE);
    CHECK_EQUAL(peer.finished, 0);
    peer_wait(&peer, SECOND);
    CHECK_EQUAL(peer_count_data(&peer), 4);
    peer_bare(&peer, DONE);
    CHECK_EQUAL(peer.finished, 0);
    peer_ok(&peer, 3, 0);
    CHECK_EQUAL(peer.result, NETBLT_DONE);
    CHECK_EQUAL(peer.finished, 1);
    peer_free(&peer);
}

static void ROBUST_07_a_stray_OK_beyond_a_hole_does_no_harm(void)
{
    struct peer peer;
    peer_init(&peer, NETBLT_SENDER, false);
    peer_open(&peer);
    peer_ok(&peer, 40, 12);
    peer_go(&peer, 1, 0);
    CHECK_EQUAL(peer_count_data(&peer), 4);
    CHECK_EQUAL(peer.finished, 0);
    peer_free(&peer);
}

static void ROBUST_02_03_unreadable_messages_are_neither_obeyed_nor_acked_but_those_before_them_are(void)
{
    for (int kind = 0; kind < 3; kind++) {
        struct peer peer;
        struct forged control;
        uint16_t list[] = {0, 1};
        peer_init(&peer, NETBLT_SENDER, false);
        peer_open(&peer);
        forge(&peer, &control, CONTROL);
        forge_go(&control, 1, 0);
        size_t at = control.length;
        forge_resend(&control, 2, 0, list, 2);
        if (kind == 0)
            control.bytes[at] = 3; /* unknown type */
        else if (kind == 1)
            forged_put16(&control, at + 8, 0xFFFF);
        else
            control.length -= 4; /* cut */
        forge_go(&control, 3, 1);
        if (kind != 0)
            control.length = at + 12; /* the overrun is at the end */
        peer_send(&peer, &control);
        peer_wait(&peer, SECOND);
        CHECK_EQUAL(peer_count_data(&peer), 4);
        CHECK_EQUAL(peer_nth_data(&peer, 3)->high_seq, 1);
        CHECK_EQUAL(peer_info(&peer)->stats.malformed, 1);
        peer_free(&peer);
    }
}

static void ROBUST_08_packets_of_the_wrong_direction_are_ignored(void)
{
    struct peer peer;
    peer_init(&peer, NETBLT_SENDER, false);
    peer_open(&peer);
    peer_go(&peer, 1, 0);
    peer_mark(&peer);
    peer_data(&peer, 0, 0, 1, true);
    peer_null_ack(&peer, 1);
    peer_reason(&peer, REFUSED, "too late");
    CHECK_EQUAL(peer_count(&peer, -1), 0);
    CHECK_EQUAL(peer.finished, 0);
    peer_free(&peer);
}

static void CKSUM_06_a_CONTROL_with_a_bad_checksum_changes_nothing(void)
{
    struct peer peer;
    struct forged control;
    peer_init(&peer, NETBLT_SENDER, false);
    peer_open(&peer);
    forge(&peer, &control, CONTROL);
    forge_go(&control, 1, 0);
    forged_put16(&control, 4, (unsigned)control.length);
    forged_put16(&control, 0, 0x5555);
    CHECK_EQUAL(peer_send_raw(&peer, control.bytes, control.length), NETBLT_ERR_CHECKSUM);
    CHECK_EQUAL(peer_count_data(&peer), 0);
    CHECK_EQUAL(peer_info(&peer)->stats.checksum_errors, 1);
    peer_go(&peer, 2, 1);
    CHECK_EQUAL(peer_last(&peer, NULL_ACK)->high_seq, 0);
    peer_free(&peer);
}

/* ROBUST: the GO that fills the gap never comes, yet memory stays bounded, and nothing is acknowledged that was not
 * kept: a peer that sends it all again is served. */
static void AMB_36_GOs_beyond_a_gap_are_held_up_to_a_bound_and_those_above_it_count_when_they_are_repeated(void)
{
    struct peer peer;
    enum { BEYOND = 200 };
    peer_init(&peer, NETBLT_SENDER, false);
    peer.params.max_buffers = BEYOND + 1;
    peer.size = 400 * (BEYOND + 1);
    peer_open(&peer);
    for (int round = 0; round < 2; round++) {
        for (unsigned i = 1; i <= BEYOND; i++)
            peer_go(&peer, i + 1, i);
        if (round == 0) {
            CHECK_EQUAL(peer_count_data(&peer), 0);
            peer_go(&peer, 1, 0);
            unsigned acked = peer_last(&peer, LDATA)->high_seq;
            CHECK(acked > 1 && acked < BEYOND + 1);
            CHECK_EQUAL(peer_count(&peer, LDATA), acked); /* one buffer for each acknowledged GO */
        }
    }
    CHECK_EQUAL(peer_count(&peer, LDATA), BEYOND + 1);
    CHECK_EQUAL(peer_last(&peer, -1)->high_seq, BEYOND + 1);
    peer_free(&peer);
}

static void NEG_08_the_offer_of_an_older_OK_that_was_overtaken_does_not_count(void)
{
    struct peer peer;
    struct forged control;
    peer_init(&peer, NETBLT_SENDER, false);
    peer.params.burst_size = 4;
    peer.params.burst_interval_ms = 10;
    peer.params.max_buffers = 3;
    peer.size = 400 * 4;
    peer_open(&peer);
    for (unsigned i = 0; i < 3; i++)
        peer_go(&peer, i + 1, i);
    peer_wait(&peer, SECOND);
    static const unsigned order[] = {5, 4}, sizes[] = {2, 3}, buffers[] = {1, 0};
    for (int i = 0; i < 2; i++) {
        forge(&peer, &control, CONTROL);
        forge_ok(&control, order[i], buffers[i], sizes[i], 10, 100);
        CHECK_EQUAL(peer_send(&peer, &control), 0);
    }
    peer_mark(&peer);
    peer_go(&peer, 6, 3);
    peer_wait(&peer, 9 * MS); /* one burst, whenever it begins */
    CHECK_EQUAL(peer_count_data(&peer), 2);
    CHECK_EQUAL(peer_info(&peer)->stats.payload_bytes, 800); /* but its buffer does */
    peer_free(&peer);
}

static void CTRL_09_a_second_OK_for_a_buffer_above_one_that_has_none_is_acknowledged_and_counts_once(void)
{
    struct peer peer;
    peer_init(&peer, NETBLT_SENDER, false);
    peer_open(&peer);
    peer_go(&peer, 1, 0);
    peer_go(&peer, 2, 1);
    peer_ok(&peer, 3, 1);
    peer_ok(&peer, 4, 1); /* with a number of its own: no repetition */
    CHECK_EQUAL(peer_last(&peer, NULL_ACK)->high_seq, 4);
    CHECK_EQUAL(peer_info(&peer)->stats.payload_bytes, 400);
    CHECK_EQUAL(peer.finished, 0);
    CHECK_EQUAL(peer.held, 1);
    peer_ok(&peer, 5, 0);
    CHECK_EQUAL(peer.result, NETBLT_DONE);
    peer_free(&peer);
}

/* RESEND shows the packets below the highest that it names, OK the whole buffer; none of them counts twice, and a
 * packet that is named has not arrived. */
static void packets_count_as_settled_when_the_peer_has_shown_that_it_has_them(void)
{
    static const uint16_t two[] = {0, 2}, one[] = {2}, first[] = {0};
    struct peer peer;
    peer_init(&peer, NETBLT_SENDER, false);
    peer_open(&peer);
    peer_go(&peer, 1, 0);
    CHECK_EQUAL(peer_count_data(&peer), 4);
    CHECK_EQUAL(peer_info(&peer)->stats.data_packets_settled, 0);
    peer_resend(&peer, 2, 0, first, 1);
    CHECK_EQUAL(peer_info(&peer)->stats.data_packets_settled, 0);
    peer_resend(&peer, 3, 0, two, 2); /* it has 1 */
    CHECK_EQUAL(peer_info(&peer)->stats.data_packets_settled, 1);
    peer_resend(&peer, 4, 0, one, 1); /* it has 0 and 1 */
    CHECK_EQUAL(peer_info(&peer)->stats.data_packets_settled, 2);
    peer_resend(&peer, 5, 0, two, 2);
    CHECK_EQUAL(peer_info(&peer)->stats.data_packets_settled, 2);
    peer_ok(&peer, 6, 0);
    CHECK_EQUAL(peer_info(&peer)->stats.data_packets_settled, 4);
    peer_free(&peer);
}

int main(void)
{
    RUN(AMB_09_the_first_GO_names_the_first_buffer);
    RUN(CTRL_15_GOs_past_the_end_are_acknowledged_and_ignored);
    RUN(CTRL_06_high_seq_is_the_highest_consecutive_number_and_CTRL_07_holes_are_not_acked);
    RUN(CTRL_08_even_the_very_first_messages_may_come_in_the_wrong_order);
    RUN(AMB_47_a_GO_in_control_sequence_is_served_whatever_its_step);
    RUN(AMB_47_a_GO_behind_a_hole_waits_for_the_lower_one_also_when_numbers_skip);
    RUN(AMB_48_an_OK_for_a_number_that_was_skipped_is_one_for_data_that_were_never_sent);
    RUN(AMB_47_skipping_GOs_beyond_the_bound_are_served_when_they_are_repeated);
    RUN(AMB_12_sequence_numbers_wrap_through_zero);
    RUN(CTRL_09_a_repeated_message_is_served_once_and_acknowledged_again);
    RUN(CTRL_10_a_CONTROL_is_answered_at_once_by_NULL_ACK_when_no_data_waits);
    RUN(AMB_34_data_that_leaves_soon_carries_the_ack_instead_of_a_NULL_ACK);
    RUN(AMB_34_slow_bursts_do_not_hold_an_ack_back);
    RUN(AMB_46_an_empty_CONTROL_is_harmless);
    RUN(CTRL_12_all_messages_of_one_packet_take_effect);
    RUN(RESEND_05_numbers_past_the_LDATA_are_ignored_and_the_rest_is_served);
    RUN(RESEND_08_senseless_requests_are_acknowledged_and_send_nothing);
    RUN(RESEND_08_packets_still_waiting_for_their_first_transmission_are_not_doubled);
    RUN(AMB_35_a_RESEND_for_a_buffer_that_the_client_has_not_filled_is_a_no_op);
    RUN(CTRL_07_data_that_leaves_while_a_hole_exists_does_not_ack_beyond_it);
    RUN(NEG_09_a_restriction_is_reported_at_once_even_if_data_could_carry_the_ack);
    RUN(NEG_09_an_offer_beyond_our_limit_is_restricted_and_reported);
    RUN(AMB_48_an_OK_for_a_buffer_that_was_never_sent_is_an_ABORT_not_a_success);
    RUN(ROBUST_07_an_OK_for_a_half_sent_buffer_and_a_premature_DONE_are_not_believed);
    RUN(ROBUST_07_a_stray_OK_beyond_a_hole_does_no_harm);
    RUN(ROBUST_02_03_unreadable_messages_are_neither_obeyed_nor_acked_but_those_before_them_are);
    RUN(ROBUST_08_packets_of_the_wrong_direction_are_ignored);
    RUN(CKSUM_06_a_CONTROL_with_a_bad_checksum_changes_nothing);
    RUN(AMB_36_GOs_beyond_a_gap_are_held_up_to_a_bound_and_those_above_it_count_when_they_are_repeated);
    RUN(NEG_08_the_offer_of_an_older_OK_that_was_overtaken_does_not_count);
    RUN(CTRL_09_a_second_OK_for_a_buffer_above_one_that_has_none_is_acknowledged_and_counts_once);
    RUN(packets_count_as_settled_when_the_peer_has_shown_that_it_has_them);
    return 0;
}
