/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests of modules that depend on the clock and need no connection: control queue, pacing, timers. */
#include "base/allocator.h"
#include "check.h"
#include "control/control_queue.h"
#include "control/timers.h"
#include "random.h"
#include "rate/pacing.h"

#define MS 1000

/* ---- control queue --------------------------------------------------------------------------------------------- */

static uint16_t seq_at(const uint8_t *body, size_t at)
{
    return (uint16_t)(body[at + 2] << 8 | body[at + 3]);
}

static void CTRL_01_to_05_the_queue_is_FIFO_numbered_from_1_and_repeats_what_is_unacked(void)
{
    struct nb_control_queue queue;
    uint8_t body[600];
    uint16_t seq, list[] = {4, 9, 65535};
    nb_control_queue_init(&queue, 600, &nb_allocator_default);
    CHECK(nb_control_queue_is_empty(&queue) && !nb_control_queue_has_news(&queue));
    CHECK(nb_control_queue_go(&queue, 7, &seq) && seq == 1);
    CHECK(nb_control_queue_resend(&queue, 7, list, 3, &seq) && seq == 2);
    list[0] = 77; /* the queue has its own copy */
    CHECK(nb_control_queue_ok(&queue, 7, 5, 40, &seq) && seq == 3);
    CHECK(nb_control_queue_has_news(&queue));
    CHECK_EQUAL(nb_control_queue_write(&queue, body, sizeof body, 500, 1000), 8 + 20 + 16);
    CHECK(!nb_control_queue_has_news(&queue));
    CHECK_EQUAL(seq_at(body, 0), 1);
    CHECK_EQUAL(seq_at(body, 8), 2);
    CHECK_EQUAL(body[8 + 13], 4);
    CHECK_EQUAL(seq_at(body, 28), 3);
    CHECK_EQUAL(body[28 + 12] * 256 + body[28 + 13], 500);
    CHECK(!nb_control_queue_ack_is_news(&queue, 0) && !nb_control_queue_ack_is_news(&queue, 4));
    CHECK(nb_control_queue_ack_is_news(&queue, 1) && nb_control_queue_ack_is_news(&queue, 3));
    CHECK_EQUAL(nb_control_queue_acked(&queue, 1)->seq, 1);
    nb_control_queue_pop(&queue);
    CHECK(nb_control_queue_acked(&queue, 1) == NULL);
    CHECK(!nb_control_queue_ack_is_news(&queue, 1));
    CHECK_EQUAL(nb_control_queue_write(&queue, body, sizeof body, 500, 2000), 36);
    CHECK_EQUAL(seq_at(body, 0), 2);
    nb_control_queue_free(&queue);
}

static void AMB_33_what_does_not_fit_waits_and_an_ack_of_unsent_messages_is_no_news(void)
{
    struct nb_control_queue queue;
    uint8_t body[100];
    uint16_t seq;
    nb_control_queue_init(&queue, 12 + 40, &nb_allocator_default); /* five GOs */
    for (uint32_t i = 0; i < 12; i++)
        CHECK(nb_control_queue_go(&queue, i, &seq));
    CHECK_EQUAL(nb_control_queue_write(&queue, body, sizeof body, 1, 0), 40);
    CHECK(!nb_control_queue_has_news(&queue)); /* the next packet would be the same */
    CHECK(nb_control_queue_ack_is_news(&queue, 5) && !nb_control_queue_ack_is_news(&queue, 6));
    for (int i = 0; i < 2; i++)
        nb_control_queue_pop(&queue);
    CHECK(nb_control_queue_has_news(&queue));
    CHECK_EQUAL(nb_control_queue_write(&queue, body, sizeof body, 1, 0), 40);
    CHECK_EQUAL(seq_at(body, 0), 3);
    CHECK_EQUAL(seq_at(body, 32), 7);
    nb_control_queue_free(&queue);
}

static void AMB_12_the_queue_runs_through_the_wrap_of_its_numbers(void)
{
    struct nb_control_queue queue;
    uint8_t body[100];
    uint16_t seq;
    nb_control_queue_init(&queue, 100, &nb_allocator_default);
    for (uint32_t i = 1; i <= 140000; i++) {
        CHECK(nb_control_queue_go(&queue, i, &seq));
        CHECK_EQUAL(seq, i % 65536);
        if (i < 4)
            continue;
        CHECK_EQUAL(nb_control_queue_write(&queue, body, sizeof body, 1, 0), 32);
        CHECK_EQUAL(seq_at(body, 0), (i - 3) % 65536);
        CHECK(nb_control_queue_ack_is_news(&queue, (uint16_t)(i - 3)));
        CHECK(!nb_control_queue_ack_is_news(&queue, (uint16_t)(i - 4)));
        CHECK(!nb_control_queue_ack_is_news(&queue, (uint16_t)(i + 1)));
        nb_control_queue_pop(&queue);
    }
    nb_control_queue_free(&queue);
}

/* ---- pacing ---------------------------------------------------------------------------------------------------- */

/* The sender takes all that it has and may: what it could not use is forfeited. */
static void RATE_01_02_no_window_as_long_as_the_interval_holds_more_than_a_burst(void)
{
    for (uint64_t seed = 1; seed <= 50; seed++) {
        struct random random = {seed};
        struct nb_burst burst = {(uint16_t)(1 + random_below(&random, 8)), (uint16_t)(1 + random_below(&random, 50))};
        struct nb_pacing pacing;
        netblt_time now = 1, sent_at[4000];
        size_t sent = 0;
        nb_pacing_init(&pacing, burst, 0); /* nothing is caught up: the bound is exact */
        while (sent < 4000) {
            now += random_below(&random, 20 * MS);
            uint16_t allowed = nb_pacing_begin(&pacing, now);
            CHECK_EQUAL(allowed > 0, nb_pacing_next(&pacing, now) == now);
            uint16_t wanted = (uint16_t)random_below(&random, 12);
            uint16_t packets = wanted < allowed ? wanted : allowed;
            for (uint16_t i = 0; i < packets && sent < 4000; i++)
                sent_at[sent++] = now;
            nb_pacing_sent(&pacing, packets);
            if (packets == wanted)
                nb_pacing_ran_dry(&pacing);
        }
        for (size_t i = 0; i + burst.size < sent; i++)
            CHECK(sent_at[i + burst.size] - sent_at[i] >= burst.interval_ms * (netblt_time)MS);
    }
}

static void RATE_02_planned_starts_hold_as_long_as_the_host_is_only_a_little_late(void)
{
    struct nb_pacing pacing;
    netblt_time start = 777;
    nb_pacing_init(&pacing, (struct nb_burst){1, 10}, MS);
    for (netblt_time k = 0; k < 1000; k++) {
        netblt_time planned = start + k * 10 * MS;
        CHECK_EQUAL(nb_pacing_next(&pacing, planned - (k > 0)), planned);
        CHECK_EQUAL(nb_pacing_begin(&pacing, planned + (k > 0 ? k % 1001 : 0)), 1);
        nb_pacing_sent(&pacing, 1);
    }
    nb_pacing_init(&pacing, (struct nb_burst){1, 2}, MS); /* a quarter of the interval is less than 1 ms */
    nb_pacing_begin(&pacing, start);
    nb_pacing_sent(&pacing, 1);
    nb_pacing_begin(&pacing, start + 2 * MS + 501);
    nb_pacing_sent(&pacing, 1);
    CHECK_EQUAL(nb_pacing_next(&pacing, start + 3 * MS), start + 4 * MS + 501);
}

static void AMB_11_interval_0_is_not_paced(void)
{
    struct nb_pacing pacing;
    nb_pacing_init(&pacing, (struct nb_burst){3, 0}, MS);
    for (int i = 0; i < 100; i++) {
        CHECK_EQUAL(nb_pacing_next(&pacing, 5), 5);
        CHECK_EQUAL(nb_pacing_begin(&pacing, 5), UINT16_MAX);
        nb_pacing_sent(&pacing, 1000);
    }
}

static void AMB_43_slower_holds_from_the_next_burst_faster_from_the_next_buffer(void)
{
    struct nb_pacing pacing;
    nb_pacing_init(&pacing, (struct nb_burst){4, 10}, 0);
    CHECK_EQUAL(nb_pacing_begin(&pacing, 0), 4);
    nb_pacing_settle(&pacing, (struct nb_burst){2, 30});
    nb_pacing_sent(&pacing, 4);
    CHECK_EQUAL(nb_pacing_next(&pacing, 0), 10 * MS);
    CHECK_EQUAL(nb_pacing_begin(&pacing, 10 * MS), 2);
    nb_pacing_sent(&pacing, 2);
    CHECK_EQUAL(nb_pacing_next(&pacing, 10 * MS), 40 * MS);
    nb_pacing_settle(&pacing, (struct nb_burst){6, 5});
    CHECK_EQUAL(nb_pacing_begin(&pacing, 40 * MS), 2);
    nb_pacing_sent(&pacing, 2);
    nb_pacing_new_buffer(&pacing);
    CHECK_EQUAL(nb_pacing_next(&pacing, 40 * MS), 45 * MS);
    CHECK_EQUAL(nb_pacing_begin(&pacing, 45 * MS), 6);
}

/* ---- timers ---------------------------------------------------------------------------------------------------- */

static void TIMER_03_the_control_timer_settles_above_a_steady_round_trip_and_widens_with_jitter(void)
{
    struct nb_control_timer steady, jittery;
    const netblt_profile *profile = &netblt_profile_default;
    nb_control_timer_init(&steady, profile, 60000 * MS, 40 * MS);
    CHECK_EQUAL(steady.value_us, profile->control_initial_us + 40 * MS);
    jittery = steady;
    for (int i = 0; i < 200; i++) {
        nb_control_timer_sample(&steady, 100 * MS);
        nb_control_timer_sample(&jittery, (i % 2 == 0 ? 50 : 150) * MS);
    }
    CHECK(steady.value_us >= 100 * MS && steady.value_us <= 105 * MS);
    CHECK(jittery.value_us >= 250 * MS && jittery.value_us <= 350 * MS);
    CHECK_EQUAL(steady.value_us % MS, 0);
    CHECK_EQUAL(nb_control_timer_published_ms(&steady), steady.value_us / MS);
    for (int i = 0; i < 200; i++)
        nb_control_timer_sample(&steady, 1);
    CHECK_EQUAL(steady.value_us, profile->control_min_us);
}

static void AMB_44_back_off_is_mild_bounded_and_ended_by_a_sample(void)
{
    struct nb_control_timer timer;
    nb_control_timer_init(&timer, &netblt_profile_default, 60000 * MS, 0);
    nb_control_timer_sample(&timer, 100 * MS);
    CHECK_EQUAL(timer.value_us, 300 * MS);
    nb_control_timer_back_off(&timer);
    CHECK_EQUAL(timer.value_us, 450 * MS);
    for (int i = 0; i < 50; i++)
        nb_control_timer_back_off(&timer);
    CHECK_EQUAL(timer.value_us, 5000 * MS);
    nb_control_timer_sample(&timer, 100 * MS);
    CHECK(timer.value_us < 300 * MS);
    nb_control_timer_init(&timer, &netblt_profile_default, 60000 * MS, 0);
    for (int i = 0; i < 50; i++) /* nothing is known of the path */
        nb_control_timer_back_off(&timer);
    CHECK_EQUAL(timer.value_us, 5000 * MS);
    nb_control_timer_init(&timer, &netblt_profile_default, 16000 * MS, 0);
    for (int i = 0; i < 50; i++) /* a quarter of the death timer */
        nb_control_timer_back_off(&timer);
    CHECK_EQUAL(timer.value_us, 4000 * MS);
    nb_control_timer_init(&timer, &netblt_profile_default, 60000 * MS, 0);
    nb_control_timer_init(&timer, &netblt_profile_default, 60000 * MS, 0);
    nb_control_timer_sample(&timer, 800 * MS);
    for (int i = 0; i < 50; i++) /* 4 times 2400 ms */
        nb_control_timer_back_off(&timer);
    CHECK_EQUAL(timer.value_us, 9600 * MS);
    nb_control_timer_init(&timer, &netblt_profile_default, 60000 * MS, 50000 * MS);
    CHECK(timer.value_us < 3000 * MS); /* slow bursts do not keep a lost first GO waiting */
    nb_control_timer_init(&timer, &netblt_profile_default, 65535u * 1000000ull, 0);
    nb_control_timer_sample(&timer, 600000000);
    CHECK_EQUAL(nb_control_timer_published_ms(&timer), 65535); /* AMB-17 */
}

static void TIMER_09_data_timers_cover_bursts_times_interval_plus_variance(void)
{
    struct nb_spacing spacing = {0};
    struct nb_burst burst = {5, 40};
    const netblt_profile *profile = &netblt_profile_default;
    CHECK_EQUAL(nb_transfer_time(0, burst, &spacing), 0);
    CHECK_EQUAL(nb_transfer_time(1, burst, &spacing), 40 * MS);
    CHECK_EQUAL(nb_transfer_time(10, burst, &spacing), 80 * MS);
    CHECK_EQUAL(nb_transfer_time(11, burst, &spacing), 120 * MS);
    CHECK_EQUAL(nb_data_timer_tight(profile, 120 * MS), 180 * MS);
    CHECK_EQUAL(nb_data_timer_tight(profile, 0), profile->data_variance_min_us);
    CHECK_EQUAL(nb_data_timer_waiting(profile, 120 * MS, true, 0), 360 * MS);
    CHECK_EQUAL(nb_data_timer_waiting(profile, 120 * MS, true, 3), 8 * 360 * MS);
    CHECK_EQUAL(nb_data_timer_waiting(profile, 120 * MS, true, 7), 128 * 360 * MS);
    CHECK_EQUAL(nb_data_timer_waiting(profile, 120 * MS, true, 8), 60000 * MS);
    CHECK_EQUAL(nb_data_timer_waiting(profile, 120 * MS, true, 1000), 60000 * MS);
    CHECK_EQUAL(nb_data_timer_waiting(profile, 50000 * MS, true, 1000), 2 * 75000 * (netblt_time)MS);
    CHECK_EQUAL(nb_data_timer_waiting(profile, 120 * MS, false, 0), 180 * MS);
    CHECK_EQUAL(nb_data_timer_waiting(profile, 120 * MS, false, 1), 360 * MS);
    for (int i = 0; i < 64; i++) /* R1030-07: bursts of five, 100 ms apart */
        nb_spacing_sample(&spacing, i % 5 == 4 ? 100 * MS : 0, burst);
    CHECK(spacing.mean_us >= 15 * MS && spacing.mean_us <= 25 * MS);
    CHECK(nb_transfer_time(100, burst, &spacing) >= 1500 * MS);
    netblt_time before = spacing.mean_us;
    for (int i = 0; i < 16; i++) /* an outage of a minute is not a pace */
        nb_spacing_sample(&spacing, i == 7 ? 60000 * MS : 20 * MS, burst);
    CHECK(spacing.mean_us < 2 * before);
}

static void TIMER_11_and_AMB_53_keepalive_and_dally_follow_the_peers_values(void)
{
    const netblt_profile *profile = &netblt_profile_default;
    CHECK_EQUAL(nb_keepalive_interval(profile, 8, 100), 2000 * MS);
    CHECK_EQUAL(nb_keepalive_interval(profile, 0, 100), 25000 * MS);
    netblt_time death = 3600 * UINT64_C(1000000);
    CHECK_EQUAL(nb_dally_time(profile, 3000, death), 6000 * MS);
    CHECK_EQUAL(nb_dally_time(profile, 1, death), 1000 * MS);
    CHECK_EQUAL(nb_dally_time(profile, 0, death), 2000 * MS);
    CHECK_EQUAL(nb_dally_time(profile, 65534, death), 131068 * MS);
    CHECK_EQUAL(nb_dally_time(profile, 65535, death), death); /* 65535 means at least */
    CHECK_EQUAL(nb_dally_time(profile, 65535, 1000 * MS), 131070 * MS);
    CHECK_EQUAL(nb_death_time(65535), 65535 * UINT64_C(1000000));
}

/* R1030-07: the hosts of 1987 expected the measured pace alone, be it slower or faster than the negotiated one. */
static void R1030_07_a_profile_may_let_the_measured_pace_decide_alone(void)
{
    struct nb_burst burst = {5, 40}; /* 8 ms a packet */
    for (netblt_time mean_us = 2 * MS; mean_us <= 20 * MS; mean_us += 18 * MS) {
        struct nb_spacing spacing = {.mean_us = mean_us};
        netblt_time slower = mean_us > 8 * MS ? mean_us : 8 * MS;
        CHECK_EQUAL(nb_transfer_time(10, burst, &spacing), 10 * slower);
        CHECK_EQUAL(nb_share_of_transfer(10, burst, &spacing), 10 * slower);
        spacing.decides = true;
        CHECK_EQUAL(nb_transfer_time(10, burst, &spacing), 10 * mean_us);
        CHECK_EQUAL(nb_share_of_transfer(10, burst, &spacing), 10 * mean_us);
    }
    struct nb_spacing nothing_yet = {.decides = true};
    CHECK_EQUAL(nb_transfer_time(10, burst, &nothing_yet), 80 * MS);
    CHECK_EQUAL(nb_share_of_transfer(10, burst, &nothing_yet), 80 * MS);
}

int main(void)
{
    RUN(CTRL_01_to_05_the_queue_is_FIFO_numbered_from_1_and_repeats_what_is_unacked);
    RUN(AMB_33_what_does_not_fit_waits_and_an_ack_of_unsent_messages_is_no_news);
    RUN(AMB_12_the_queue_runs_through_the_wrap_of_its_numbers);
    RUN(RATE_01_02_no_window_as_long_as_the_interval_holds_more_than_a_burst);
    RUN(RATE_02_planned_starts_hold_as_long_as_the_host_is_only_a_little_late);
    RUN(AMB_11_interval_0_is_not_paced);
    RUN(AMB_43_slower_holds_from_the_next_burst_faster_from_the_next_buffer);
    RUN(TIMER_03_the_control_timer_settles_above_a_steady_round_trip_and_widens_with_jitter);
    RUN(AMB_44_back_off_is_mild_bounded_and_ended_by_a_sample);
    RUN(TIMER_09_data_timers_cover_bursts_times_interval_plus_variance);
    RUN(TIMER_11_and_AMB_53_keepalive_and_dally_follow_the_peers_values);
    RUN(R1030_07_a_profile_may_let_the_measured_pace_decide_alone);
    return 0;
}
