/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests of the arithmetic of automatic rate control: pairs for rates, slopes, trains, minima. */
#include "check.h"
#include "random.h"
#include "rate/rate_pair.h"
#include "rate/rate_window.h"

#define MS UINT64_C(1000)

static bool near(double value, double wanted, double percent)
{
    double off = value > wanted ? value - wanted : wanted - value;
    return off <= wanted * percent / 100;
}

/* ---- pairs ----------------------------------------------------------------------------------------------------- */

static void NEG_08_a_pair_lies_a_little_below_its_rate_and_never_above(void)
{
    unsigned exact = 0, all = 0;
    double rate = 200;
    for (int step = 0; step < 4200; step++) {
        rate *= 1.003;
        struct nb_burst pair = nb_pair_for_rate(rate, NB_BURST_USUAL_MOST, 1, false);
        double said = pair.size * 1000.0 / pair.interval_ms;
        CHECK(said <= rate * 1.000001);
        CHECK(said >= rate * (rate >= 1e5 ? 0.99 : 0.97));
        CHECK(pair.size <= NB_BURST_USUAL_MOST || pair.interval_ms <= 2);
        exact += said >= rate * 0.99;
        all++;
    }
    CHECK(exact >= all * 0.93);
}

static void a_pair_has_the_smallest_burst_that_is_exact_enough(void)
{
    struct nb_burst pair = nb_pair_for_rate(25000.0 / 3, NB_BURST_USUAL_MOST, 1, false);
    CHECK_EQUAL(pair.size, 25);
    CHECK_EQUAL(pair.interval_ms, 3);
    pair = nb_pair_for_rate(25000.0 / 3, NB_BURST_USUAL_MOST, 1, true);
    CHECK_EQUAL(pair.size, 8);
    CHECK_EQUAL(pair.interval_ms, 1);
    pair = nb_pair_for_rate(4000000, NB_BURST_USUAL_MOST, 1, false); /* 46 Gb/s of 1456 bytes */
    CHECK_EQUAL(pair.size, 4000);
    CHECK_EQUAL(pair.interval_ms, 1);
    pair = nb_pair_for_rate(1e9, NB_BURST_USUAL_MOST, 1, false);
    CHECK_EQUAL(pair.size, UINT16_MAX);
    pair = nb_pair_for_rate(0.1, NB_BURST_USUAL_MOST, 1, false);
    CHECK_EQUAL(pair.size, 1);
    CHECK_EQUAL(pair.interval_ms, 10000);
    pair = nb_pair_for_rate(1e-9, NB_BURST_USUAL_MOST, 1, false);
    CHECK_EQUAL(pair.interval_ms, UINT16_MAX);
}

static void intervals_from_a_least_one_on_come_first_while_bursts_stay_small(void)
{
    for (unsigned per_mille = 1100000; per_mille < 40000000; per_mille += per_mille / 333) {
        double rate = per_mille / 1000.0;
        struct nb_burst pair = nb_pair_for_rate(rate, NB_BURST_USUAL_MOST, 4, false);
        struct nb_burst shortest = nb_pair_for_rate(rate, NB_BURST_USUAL_MOST, 1, false);
        CHECK(nb_pair_rate(pair) <= rate * 1.000001);
        CHECK(nb_pair_rate(pair) >= nb_pair_rate(shortest) || nb_pair_rate(pair) >= 0.99 * rate);
        CHECK(pair.size <= NB_BURST_USUAL_MOST || pair.interval_ms <= 2);
        bool exact = false;
        for (unsigned ms = 4; rate * ms / 1000 < NB_BURST_USUAL_MOST + 1; ms++)
            exact = exact || (unsigned)(rate * ms / 1000) * 1000.0 / ms >= 0.99 * rate;
        CHECK(pair.interval_ms >= 4 || !exact);
    }
    struct nb_burst pair = nb_pair_for_rate(25000.0 / 3, NB_BURST_USUAL_MOST, 4, false);
    CHECK(pair.size == 33 && pair.interval_ms == 4);
    pair = nb_pair_for_rate(83333, NB_BURST_USUAL_MOST, 4, false); /* 4 ms would be 333 packets at once */
    CHECK(pair.size == 83 && pair.interval_ms == 1);
}

static void NEG_09_a_pair_within_a_cap_is_one_that_its_sender_adopts_unchanged(void)
{
    struct nb_burst cap = {10, 20};
    double rate = 1;
    for (int step = 0; step < 80; step++) {
        rate *= 1.1;
        struct nb_burst pair = nb_pair_within(rate, cap);
        CHECK(pair.size >= 1 && pair.size <= cap.size && pair.interval_ms >= cap.interval_ms);
        CHECK(pair.size * 1000.0 / pair.interval_ms <= rate * 1.000001);
    }
    struct nb_burst wide = {48, 15};
    CHECK(nb_pair_rate(nb_pair_within(863, wide)) >= 0.99 * 863); /* 12 in 15 ms would be 800 */
    CHECK_EQUAL(nb_pair_within(1e6, cap).size, 10);
    CHECK_EQUAL(nb_pair_within(1e6, cap).interval_ms, 20);
}

/* ---- windows --------------------------------------------------------------------------------------------------- */

/* `bursts` bursts of `size` packets every `interval_us`, seen by a host that looks only every `poll_us`. */
static struct nb_rate_result measure(unsigned bursts, unsigned size, netblt_time interval_us, netblt_time poll_us,
                                     unsigned loss_permille)
{
    struct nb_rate_window window;
    struct nb_rate_result result;
    struct random random = {11};
    uint32_t gap = 0;
    nb_rate_window_begin(&window, 77);
    for (unsigned k = 0; k < bursts * size; k++) {
        netblt_time at = 77 + k / size * interval_us;
        if (random_chance(&random, loss_permille)) {
            gap++;
            continue;
        }
        nb_rate_window_add(&window, gap, (at + poll_us - 1) / poll_us * poll_us);
        gap = 0;
    }
    CHECK(nb_rate_window_result(&window, &result));
    return result;
}

static void a_window_measures_bursts_within_a_percent_whatever_the_hosts_clock(void)
{
    CHECK(near(measure(30, 25, 3 * MS, 1, 0).sent_rate, 25000.0 / 3, 1));
    CHECK(near(measure(20, 800, 1 * MS, 100, 0).sent_rate, 800000, 1));
    CHECK(near(measure(300, 1, 12 * MS, 4000, 0).sent_rate, 1000.0 / 12, 1));
}

static void gaps_count_as_sent_and_not_as_arrived(void)
{
    struct nb_rate_result result = measure(200, 10, 2 * MS, 1, 100);
    CHECK(near(result.sent_rate, 5000, 1));
    CHECK(near(result.arrival_rate, 4500, 2));
    CHECK(near(result.lost, 200, 20));
    CHECK(result.run_length < 1.5);
}

static void a_reordered_packet_is_not_lost(void)
{
    struct nb_rate_window window;
    struct nb_rate_result result;
    nb_rate_window_begin(&window, 0);
    for (netblt_time k = 0; k < 100; k++) {
        if (k % 10 == 3)
            continue;
        nb_rate_window_add(&window, k % 10 == 4, k * MS);
        if (k % 10 == 6)
            nb_rate_window_late(&window);
    }
    CHECK(nb_rate_window_result(&window, &result));
    CHECK_EQUAL(result.lost, 0);
    CHECK(near(result.sent_rate, 1000, 1));
}

static void a_few_packets_or_a_single_moment_make_no_rate(void)
{
    struct nb_rate_window window;
    struct nb_rate_result result;
    nb_rate_window_begin(&window, 0);
    for (netblt_time k = 0; k < 7; k++)
        nb_rate_window_add(&window, 0, k * MS);
    CHECK(!nb_rate_window_result(&window, &result));
    nb_rate_window_begin(&window, 0);
    for (netblt_time k = 0; k < 700; k++)
        nb_rate_window_add(&window, 0, 5);
    CHECK(!nb_rate_window_result(&window, &result));
}

/* ---- trains and minima ----------------------------------------------------------------------------------------- */

static void trains_tell_the_link_not_the_pace(void)
{
    struct nb_rate_trains trains = {0};
    for (netblt_time burst = 0; burst < 10; burst++)
        for (netblt_time k = 0; k < 8; k++) /* 120 us each, bursts 20 ms apart */
            nb_rate_trains_add(&trains, !(burst == 4 && k == 4), 10 * MS, burst * 20 * MS + k * 120);
    CHECK(near(nb_rate_trains_rate(&trains), 1e6 / 120, 1));
}

static void trains_that_a_host_cannot_time_are_none(void)
{
    struct nb_rate_trains trains = {0};
    for (netblt_time burst = 0; burst < 100; burst++)
        for (netblt_time k = 0; k < 8; k++)
            nb_rate_trains_add(&trains, true, 10 * MS, burst * 20 * MS + k / 4 * 100);
    CHECK_EQUAL(nb_rate_trains_rate(&trains), 0);
}

static void a_minimum_is_forgotten_after_one_to_two_periods(void)
{
    struct nb_minimum minimum;
    nb_minimum_init(&minimum);
    CHECK_EQUAL(nb_minimum_get(&minimum), NETBLT_TIME_NEVER);
    CHECK(!nb_minimum_add(&minimum, 50, 1000, 3, 0));
    CHECK(!nb_minimum_add(&minimum, 70, 1000, 3, 2000)); /* the time is over, but two samples are too few */
    CHECK(nb_minimum_add(&minimum, 60, 1000, 3, 2001));
    CHECK_EQUAL(nb_minimum_get(&minimum), 50);
    for (netblt_time t = 3000; t < 6000; t += 100)
        nb_minimum_add(&minimum, 90, 1000, 3, t);
    CHECK_EQUAL(nb_minimum_get(&minimum), 90);
}

static void a_peak_is_forgotten_after_one_to_two_periods(void)
{
    struct nb_peak peak = {0};
    CHECK_EQUAL(nb_peak_get(&peak), 0);
    nb_peak_add(&peak, 5, 100, 1000);
    nb_peak_add(&peak, 3, 100, 1050);
    CHECK_EQUAL(nb_peak_get(&peak), 5);
    nb_peak_add(&peak, 2, 100, 1110);
    CHECK_EQUAL(nb_peak_get(&peak), 5);
    nb_peak_add(&peak, 1, 100, 1220);
    CHECK_EQUAL(nb_peak_get(&peak), 2);
    nb_peak_add(&peak, 1, 100, 9000);
    CHECK_EQUAL(nb_peak_get(&peak), 1);
}

static void NEG_09_a_pair_at_least_another_is_slower_in_no_field(void)
{
    static const struct nb_burst least[] = {{16, 2}, {44, 10}, {8, 20}, {100, 3}, {1, 7}};
    for (size_t i = 0; i < sizeof least / sizeof *least; i++) {
        double rate = nb_pair_rate(least[i]);
        /* NOLINTNEXTLINE(cert-flp30-c,clang-analyzer-security.FloatLoopCounter) */
        for (double factor = 1; factor < 1000; factor *= 1.3) {
            struct nb_burst pair = nb_pair_at_least(rate * factor, least[i]);
            CHECK(pair.size >= least[i].size && pair.interval_ms <= least[i].interval_ms && pair.interval_ms > 0);
            CHECK(nb_pair_rate(pair) <= rate * factor * 1.000001);
            CHECK(nb_pair_rate(pair) >= rate * factor * (least[i].size < 8 ? 0.5 : 0.87));
        }
    }
    CHECK_EQUAL(nb_pair_at_least(NB_RATE_UNPACED, (struct nb_burst){44, 0}).interval_ms, 0);
    CHECK_EQUAL(nb_pair_at_least(NB_RATE_UNPACED, (struct nb_burst){44, 0}).size, 44);
}

int main(void)
{
    RUN(NEG_08_a_pair_lies_a_little_below_its_rate_and_never_above);
    RUN(a_pair_has_the_smallest_burst_that_is_exact_enough);
    RUN(intervals_from_a_least_one_on_come_first_while_bursts_stay_small);
    RUN(NEG_09_a_pair_within_a_cap_is_one_that_its_sender_adopts_unchanged);
    RUN(a_window_measures_bursts_within_a_percent_whatever_the_hosts_clock);
    RUN(gaps_count_as_sent_and_not_as_arrived);
    RUN(a_reordered_packet_is_not_lost);
    RUN(a_few_packets_or_a_single_moment_make_no_rate);
    RUN(trains_tell_the_link_not_the_pace);
    RUN(trains_that_a_host_cannot_time_are_none);
    RUN(a_minimum_is_forgotten_after_one_to_two_periods);
    RUN(a_peak_is_forgotten_after_one_to_two_periods);
    RUN(NEG_09_a_pair_at_least_another_is_slower_in_no_field);
    return 0;
}
