/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests of the data sender, rule by rule, against a scripted peer: what it sends, in which order, how fast.
 * Standard buffers: 4 packets of 100 bytes. */
#include "check.h"
#include "peer.h"

#include <string.h>

static void DATA_01_nothing_is_sent_before_its_GO(void)
{
    struct peer peer;
    peer_init(&peer, NETBLT_SENDER, true);
    peer_open(&peer);
    peer_wait(&peer, 10 * SECOND);
    CHECK_EQUAL(peer_count_data(&peer), 0);
    peer_go(&peer, 1, 0);
    peer_wait(&peer, 10 * SECOND);
    CHECK_EQUAL(peer_count_data(&peer), 4);
    for (size_t i = 0; i < 4; i++)
        CHECK_EQUAL(peer_nth_data(&peer, i)->buffer, 0);
    peer_free(&peer);
}

static void DATA_04_each_buffer_ends_in_one_LDATA_whatever_its_size(void)
{
    static const struct {
        uint64_t size;
        unsigned packets;
        unsigned last_length;
    } sizes[] = {{1, 1, 1}, {100, 1, 100}, {300, 3, 100}, {301, 4, 1}, {400, 4, 100}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct peer peer;
        peer_init(&peer, NETBLT_SENDER, false);
        peer.size = sizes[i].size;
        peer_open(&peer);
        peer_go(&peer, 1, 0);
        CHECK_EQUAL(peer_count(&peer, DATA), sizes[i].packets - 1);
        CHECK_EQUAL(peer_count(&peer, LDATA), 1);
        CHECK_EQUAL(peer_last(&peer, LDATA)->packet, sizes[i].packets - 1);
        CHECK_EQUAL(peer_last(&peer, LDATA)->length, 24 + sizes[i].last_length);
        for (size_t k = 0; k + 1 < sizes[i].packets; k++) {
            CHECK_EQUAL(peer_nth(&peer, DATA, k)->packet, k);   /* ORDER-03, DATA-05 */
            CHECK_EQUAL(peer_nth(&peer, DATA, k)->length, 124); /* DATA-03 */
        }
        peer_free(&peer);
    }
}

static void AMB_41_an_empty_transfer_is_one_empty_LDATA_of_the_last_buffer(void)
{
    struct peer peer;
    peer_init(&peer, NETBLT_SENDER, true);
    peer.size = 0;
    peer.params.data_checksum = true;
    peer_open(&peer);
    peer_go(&peer, 1, 0);
    CHECK_EQUAL(peer_count_data(&peer), 1);
    CHECK_EQUAL(peer_nth(&peer, LDATA, 0)->length, 24);
    CHECK(peer_nth(&peer, LDATA, 0)->last_buffer);
    CHECK_EQUAL(peer_get16(peer_nth(&peer, LDATA, 0)->bytes + 20), 0xFFFF); /* the sum of nothing */
    peer_ok(&peer, 2, 0);
    CHECK_EQUAL(peer.result, NETBLT_DONE);
    CHECK_EQUAL(peer.finished, 1);
    peer_free(&peer);
}

static void AMB_41_an_end_learnt_late_on_a_buffer_boundary_gives_an_empty_last_buffer(void)
{
    struct peer peer;
    peer_init(&peer, NETBLT_SENDER, true);
    peer.size = 400;
    peer.end_is_late = true;
    peer_open(&peer);
    peer_go(&peer, 1, 0);
    CHECK(!peer_nth_data(&peer, 3)->last_buffer);
    peer_go(&peer, 2, 1);
    CHECK_EQUAL(peer_nth_data(&peer, 4)->length, 24);
    CHECK(peer_nth_data(&peer, 4)->last_buffer);
    peer_free(&peer);
}

static void DATA_09_every_packet_of_the_last_buffer_and_no_other_has_L_repeats_included(void)
{
    struct peer peer;
    uint16_t list[] = {0, 3};
    peer_init(&peer, NETBLT_SENDER, false);
    peer_open(&peer);
    peer_go(&peer, 1, 0);
    peer_go(&peer, 2, 1);
    peer_resend(&peer, 3, 1, list, 2);
    peer_resend(&peer, 4, 0, list, 2);
    CHECK_EQUAL(peer_count_data(&peer), 12);
    for (size_t i = 0; i < 12; i++)
        CHECK_EQUAL(peer_nth_data(&peer, i)->last_buffer, peer_nth_data(&peer, i)->buffer == 1);
    peer_free(&peer);
}

static void DATA_12_no_more_buffers_than_negotiated_are_out_even_if_the_peer_sends_more_GOs(void)
{
    struct peer peer;
    struct forged control;
    peer_init(&peer, NETBLT_SENDER, false);
    peer.size = 2400;
    peer_open(&peer);
    forge(&peer, &control, CONTROL);
    for (unsigned i = 0; i < 4; i++)
        forge_go(&control, i + 1, i);
    peer_send(&peer, &control);
    CHECK_EQUAL(peer_count_data(&peer), 8); /* two buffers */
    peer_ok(&peer, 5, 1);
    CHECK_EQUAL(peer_count_data(&peer), 12);
    CHECK_EQUAL(peer_last(&peer, LDATA)->buffer, 2);
    peer_free(&peer);
}

static void DATA_13_nothing_is_repeated_without_a_RESEND(void)
{
    struct peer peer;
    peer_init(&peer, NETBLT_SENDER, true);
    peer_open(&peer);
    peer_go(&peer, 1, 0);
    for (int i = 0; i < 10; i++) {
        peer_wait(&peer, 20 * SECOND);
        peer_bare(&peer, KEEPALIVE);
    }
    CHECK_EQUAL(peer_count_data(&peer), 4);
    peer_free(&peer);
}

static void RESEND_02_exactly_the_listed_packets_are_sent_again(void)
{
    struct peer peer;
    uint16_t list[] = {0, 2};
    peer_init(&peer, NETBLT_SENDER, false);
    peer_open(&peer);
    peer_go(&peer, 1, 0);
    peer_mark(&peer);
    peer_resend(&peer, 2, 0, list, 2);
    CHECK_EQUAL(peer_count_data(&peer), 2);
    CHECK_EQUAL(peer_nth_data(&peer, 0)->packet, 0);
    CHECK_EQUAL(peer_nth_data(&peer, 1)->packet, 2);
    peer_free(&peer);
}

static void RESEND_03_a_repeat_differs_from_the_original_in_ack_and_checksum_only(void)
{
    struct peer peer;
    uint16_t list[] = {0, 1, 2, 3};
    peer_init(&peer, NETBLT_SENDER, false);
    peer.size = 350;
    peer.params.data_checksum = true;
    peer_open(&peer);
    peer_go(&peer, 1, 0);
    peer_resend(&peer, 2, 0, list, 4);
    CHECK_EQUAL(peer_count_data(&peer), 8);
    for (size_t i = 0; i < 4; i++) {
        const struct seen *first = peer_nth_data(&peer, i);
        const struct seen *again = peer_nth_data(&peer, 4 + i);
        CHECK_EQUAL(again->size, first->size);
        CHECK(memcmp(again->bytes + 2, first->bytes + 2, 14) == 0);
        CHECK(memcmp(again->bytes + 18, first->bytes + 18, first->size - 18) == 0);
    }
    peer_free(&peer);
}

static void ORDER_01_the_lowest_buffer_goes_first(void)
{
    struct peer peer;
    struct forged control;
    peer_init(&peer, NETBLT_SENDER, false);
    peer.size = 1200;
    peer.params.max_buffers = 3;
    peer.params.burst_size = 2;
    peer.params.burst_interval_ms = 10;
    peer_open(&peer);
    forge(&peer, &control, CONTROL);
    for (unsigned i = 0; i < 3; i++)
        forge_go(&control, i + 1, i);
    peer_send(&peer, &control);
    peer_wait(&peer, SECOND);
    for (size_t i = 0; i < 12; i++) {
        CHECK_EQUAL(peer_nth_data(&peer, i)->buffer, i / 4);
        CHECK_EQUAL(peer_nth_data(&peer, i)->packet, i % 4);
    }
    /* ORDER-04: no gap between buffers */
    CHECK_EQUAL(peer_nth_data(&peer, 11)->at - peer_nth_data(&peer, 0)->at, 50 * MS);
    peer_free(&peer);
}

static void ORDER_02_repairs_of_a_lower_buffer_precede_progress_in_a_higher_one(void)
{
    struct peer peer;
    uint16_t list[] = {1, 3};
    peer_init(&peer, NETBLT_SENDER, false);
    peer.params.burst_size = 1;
    peer.params.burst_interval_ms = 10;
    peer_open(&peer);
    peer_go(&peer, 1, 0);
    peer_go(&peer, 2, 1);
    peer_wait(&peer, 50 * MS); /* buffer 1 has begun */
    CHECK_EQUAL(peer_times_sent(&peer, 1, 0), 1);
    CHECK_EQUAL(peer_times_sent(&peer, 1, 3), 0);
    peer_mark(&peer);
    peer_resend(&peer, 3, 0, list, 2);
    peer_wait(&peer, SECOND);
    CHECK_EQUAL(peer_nth_data(&peer, 0)->buffer, 0);
    CHECK_EQUAL(peer_nth_data(&peer, 0)->packet, 1);
    CHECK_EQUAL(peer_nth_data(&peer, 1)->buffer, 0);
    CHECK_EQUAL(peer_nth_data(&peer, 1)->packet, 3);
    CHECK_EQUAL(peer_nth_data(&peer, 2)->buffer, 1);
    peer_free(&peer);
}

static void ORDER_02_repairs_precede_the_packets_of_the_same_buffer_that_were_never_sent(void)
{
    struct peer peer;
    uint16_t list[] = {0};
    peer_init(&peer, NETBLT_SENDER, false);
    peer.params.burst_size = 1;
    peer.params.burst_interval_ms = 10;
    peer_open(&peer);
    peer_go(&peer, 1, 0);
    peer_wait(&peer, 15 * MS); /* 0 and 1 are out */
    peer_resend(&peer, 2, 0, list, 1);
    peer_wait(&peer, SECOND);
    CHECK_EQUAL(peer_nth_data(&peer, 2)->packet, 0);
    CHECK_EQUAL(peer_nth_data(&peer, 3)->packet, 2);
    CHECK_EQUAL(peer_nth_data(&peer, 4)->packet, 3);
    peer_free(&peer);
}

static void RATE_01_02_bursts_have_the_negotiated_size_and_distance_start_to_start(void)
{
    struct peer peer;
    peer_init(&peer, NETBLT_SENDER, false);
    peer.params.burst_size = 3;
    peer.params.burst_interval_ms = 200;
    peer_open(&peer);
    netblt_time start = peer.now;
    peer_go(&peer, 1, 0);
    peer_go(&peer, 2, 1);
    peer_wait(&peer, 5 * SECOND); /* RATE-04: the receiver sends nothing more */
    CHECK_EQUAL(peer_count_data(&peer), 8);
    for (size_t i = 0; i < 8; i++)
        CHECK_EQUAL(peer_nth_data(&peer, i)->at, start + i / 3 * 200 * MS);
    peer_free(&peer);
}

static void RATE_03_repeats_draw_on_the_same_budget(void)
{
    struct peer peer;
    uint16_t list[] = {0, 1, 2, 3};
    peer_init(&peer, NETBLT_SENDER, false);
    peer.params.burst_size = 2;
    peer.params.burst_interval_ms = 100;
    peer.size = 400;
    peer_open(&peer);
    peer_go(&peer, 1, 0);
    peer_wait(&peer, 101 * MS);
    CHECK_EQUAL(peer_count_data(&peer), 4);
    netblt_time second_burst = peer_nth_data(&peer, 2)->at;
    peer_resend(&peer, 2, 0, list, 4);
    peer_wait(&peer, SECOND);
    CHECK_EQUAL(peer_nth_data(&peer, 4)->at, second_burst + 100 * MS);
    CHECK_EQUAL(peer_nth_data(&peer, 5)->at, second_burst + 100 * MS);
    CHECK_EQUAL(peer_nth_data(&peer, 6)->at, second_burst + 200 * MS);
    peer_free(&peer);
}

static void RATE_01_what_is_left_of_a_burst_that_ran_dry_is_not_spent_later(void)
{
    struct peer peer;
    peer_init(&peer, NETBLT_SENDER, false);
    peer.params.burst_size = 6;
    peer.params.burst_interval_ms = 100;
    peer.size = 1200;
    peer_open(&peer);
    peer_go(&peer, 1, 0);
    netblt_time start = peer_nth_data(&peer, 0)->at;
    peer_wait(&peer, 90 * MS);
    peer_go(&peer, 2, 1);
    peer_wait(&peer, SECOND);
    CHECK_EQUAL(peer_nth_data(&peer, 4)->at, start + 100 * MS);
    peer_free(&peer);
}

static void RATE_02_small_lateness_is_caught_up_and_great_lateness_is_not(void)
{
    static uint8_t packets[NETBLT_PACKET_MAX_BYTES];
    struct peer peer;
    netblt_output output;
    peer_init(&peer, NETBLT_SENDER, false);
    peer.params.burst_size = 1;
    peer.params.burst_interval_ms = 100;
    peer_open(&peer);
    netblt_time start = peer.now;
    peer_go(&peer, 1, 0);
    CHECK(netblt_output_burst(peer.endpoint, packets, sizeof packets, &output, start + 101 * MS) > 0); /* 1 ms late */
    CHECK_EQUAL(netblt_deadline(peer.endpoint), start + 200 * MS);
    CHECK(netblt_output_burst(peer.endpoint, packets, sizeof packets, &output, start + 202 * MS) > 0); /* 2 ms late */
    CHECK_EQUAL(netblt_deadline(peer.endpoint), start + 302 * MS);
    peer_free(&peer);
}

static void RATE_05_an_offer_changes_the_pace_and_CTRL_11_NULL_ACK_tells_it(void)
{
    struct peer peer;
    struct forged control;
    peer_init(&peer, NETBLT_SENDER, true);
    peer.params.burst_size = 4;
    peer.params.burst_interval_ms = 20;
    peer.size = 4000;
    peer.stall_from = 2;
    peer_open(&peer);
    peer_go(&peer, 1, 0);
    CHECK_EQUAL(peer_count(&peer, NULL_ACK), 0);
    peer_go(&peer, 2, 1);
    peer_wait(&peer, SECOND);
    forge(&peer, &control, CONTROL);
    forge_ok(&control, 3, 0, 2, 300, 100); /* slower */
    forge_go(&control, 4, 2);
    peer_send(&peer, &control);
    const struct seen *report = peer_last(&peer, NULL_ACK);
    CHECK_EQUAL(peer_get16(report->bytes + 14), 2);
    CHECK_EQUAL(peer_get16(report->bytes + 16), 300);
    peer_mark(&peer);
    peer.stall_from = UINT64_MAX;
    netblt_resume(peer.connection, peer.now);
    peer_wait(&peer, SECOND);
    CHECK_EQUAL(peer_nth_data(&peer, 1)->at, peer_nth_data(&peer, 0)->at);
    CHECK_EQUAL(peer_nth_data(&peer, 2)->at, peer_nth_data(&peer, 0)->at + 300 * MS);
    forge(&peer, &control, CONTROL);
    forge_ok(&control, 5, 1, 0, 30, 100); /* faster again; size 0 keeps the size: AMB-11 */
    forge_go(&control, 6, 3);
    peer_mark(&peer);
    peer_send(&peer, &control);
    peer_wait(&peer, SECOND);
    CHECK_EQUAL(peer_nth_data(&peer, 3)->at, peer_nth_data(&peer, 0)->at + 30 * MS);
    CHECK_EQUAL(peer_nth_data(&peer, 1)->at, peer_nth_data(&peer, 0)->at);
    peer_free(&peer);
}

static void CKSUM_04_data_is_summed_when_C_is_1_and_AMB_07_the_field_is_zero_when_not(void)
{
    for (int c = 0; c < 2; c++) {
        struct peer peer;
        peer_init(&peer, NETBLT_SENDER, false);
        peer.params.data_checksum = c != 0;
        peer.size = 399;
        peer_open(&peer);
        peer_go(&peer, 1, 0);
        for (size_t i = 0; i < 4; i++) {
            const struct seen *data = peer_nth_data(&peer, i);
            uint32_t sum = peer_get16(data->bytes + 20);
            for (size_t k = 24; k < data->length; k++)
                sum += k % 2 == 0 ? data->bytes[k] * 256u : data->bytes[k];
            while (sum > 0xFFFF)
                sum = sum % 65536 + sum / 65536;
            if (c != 0)
                CHECK_EQUAL(sum, 0xFFFF);
            else
                CHECK_EQUAL(peer_get16(data->bytes + 20), 0);
        }
        peer_free(&peer);
    }
}

int main(void)
{
    RUN(DATA_01_nothing_is_sent_before_its_GO);
    RUN(DATA_04_each_buffer_ends_in_one_LDATA_whatever_its_size);
    RUN(AMB_41_an_empty_transfer_is_one_empty_LDATA_of_the_last_buffer);
    RUN(AMB_41_an_end_learnt_late_on_a_buffer_boundary_gives_an_empty_last_buffer);
    RUN(DATA_09_every_packet_of_the_last_buffer_and_no_other_has_L_repeats_included);
    RUN(DATA_12_no_more_buffers_than_negotiated_are_out_even_if_the_peer_sends_more_GOs);
    RUN(DATA_13_nothing_is_repeated_without_a_RESEND);
    RUN(RESEND_02_exactly_the_listed_packets_are_sent_again);
    RUN(RESEND_03_a_repeat_differs_from_the_original_in_ack_and_checksum_only);
    RUN(ORDER_01_the_lowest_buffer_goes_first);
    RUN(ORDER_02_repairs_of_a_lower_buffer_precede_progress_in_a_higher_one);
    RUN(ORDER_02_repairs_precede_the_packets_of_the_same_buffer_that_were_never_sent);
    RUN(RATE_01_02_bursts_have_the_negotiated_size_and_distance_start_to_start);
    RUN(RATE_03_repeats_draw_on_the_same_budget);
    RUN(RATE_01_what_is_left_of_a_burst_that_ran_dry_is_not_spent_later);
    RUN(RATE_02_small_lateness_is_caught_up_and_great_lateness_is_not);
    RUN(RATE_05_an_offer_changes_the_pace_and_CTRL_11_NULL_ACK_tells_it);
    RUN(CKSUM_04_data_is_summed_when_C_is_1_and_AMB_07_the_field_is_zero_when_not);
    return 0;
}
