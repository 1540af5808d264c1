/* SPDX-License-Identifier: BSD-2-Clause */
/* Automatic rate control and lost packets: which share of loss counts as the path's own, and what a lower rate on trial
 * proves (docs/rate-control.md). */
#include "check.h"
#include "rate/rate_loss.h"
#include "rate/rate_pair.h"
#include "rate/rate_path.h"
#include "rate/rate_probe.h"
#include "rate_begin.h"

#define MS UINT64_C(1000)
#define SECOND UINT64_C(1000000)
/* More than this share counts as a queue, whatever the path. */
#define MOST_OF_CHANCE 0.3

/* A controller that cruises at `base` packets a second on a path of 40 ms without a queue. */
static void cruise(struct nb_rate_auto *rate, double base)
{
    rate_begin_auto(rate, (struct nb_burst){8, 20}, 90, 1e12, 7);
    for (unsigned i = 1; i <= 20; i++)
        nb_rate_auto.round_trip(rate, 40 * MS, i * 100 * MS);
    rate->state = NB_RATE_CRUISE;
    rate->base = rate->base_arrives = base;
}

/* A window of `sent` packets at `rate`, of which a share was lost, one at a time. */
static struct nb_rate_result window(double sent, double lost_share, double rate)
{
    return (struct nb_rate_result){
        .packets = sent * (1 - lost_share),
        .lost = sent * lost_share,
        .run_length = lost_share > 0 ? 1 : 0,
        .seconds = sent / rate,
        .sent_rate = rate,
        .arrival_rate = rate * (1 - lost_share),
    };
}

/* Trains that show a link of so many packets a second. */
static void show_link(struct nb_rate_auto *rate, double packets_per_s)
{
    netblt_time step = (netblt_time)(1e6 / packets_per_s), now = SECOND;
    for (unsigned train = 0; train < 64; train++, now += 100 * MS)
        for (unsigned i = 0; i < 16; i++, now += step)
            nb_rate_trains_add(&rate->trains, i > 0, 10 * step, now);
}

static void loss_by_chance_is_never_believed_beyond_three_tenths(void)
{
    struct nb_rate_auto rate;
    struct nb_rate_result heavy = window(1000, 0.6, 1000), light = window(1000, 0.1, 1000);
    cruise(&rate, 1000);
    nb_rate_learn_loss(&rate, &light, 1);
    CHECK(rate.loss > 0.09 && rate.loss < 0.11);
    nb_rate_learn_loss(&rate, &heavy, 1);
    CHECK(rate.loss > 0.29 && rate.loss <= MOST_OF_CHANCE);
    CHECK(nb_rate_lost_too_much(&rate, &heavy)); /* and so it slows */
}

/* A trial: loss lowered the base, and at the lower rate as large a share is lost. */
static bool trial_shows_chance(struct nb_rate_auto *rate, double share)
{
    struct nb_rate_offer offer = {.burst = {8, 8}, .rate = 1000};
    struct nb_rate_result before = window(1000, share, 1000);
    cruise(rate, 1000);
    nb_rate_back_off_for_loss(rate, &offer, &before);
    CHECK(rate->base < 1000);
    if (rate->trial.base == 0)
        return false;
    struct nb_rate_result after = window(1000, share, rate->base);
    return nb_rate_loss_was_chance(rate, &after);
}

static void a_trial_gives_the_rate_back_when_the_loss_stays(void)
{
    struct nb_rate_auto rate;
    CHECK(trial_shows_chance(&rate, 0.1));
    CHECK(rate.base > 999);
    CHECK(rate.loss > 0.09 && rate.loss < 0.11);
}

static void a_trial_believes_no_more_than_three_tenths(void)
{
    struct nb_rate_auto rate;
    CHECK(trial_shows_chance(&rate, 0.5));
    CHECK(rate.loss <= MOST_OF_CHANCE);
}

/* ---- probes that cost packets ---------------------------------------------------------------------------------- */

static double base_after_costly_probe(struct nb_rate_auto *rate, double link)
{
    struct nb_rate_offer offer = {.phase = NB_RATE_UP, .burst = {9, 8}, .rate = 1100};
    struct nb_rate_result result = window(1000, 0.2, 1100);
    cruise(rate, 1000);
    show_link(rate, link);
    nb_rate_judge_probe(rate, &offer, &result, 60 * SECOND);
    return rate->base;
}

static void where_many_share_the_link_loss_in_a_probe_lowers_the_base(void)
{
    struct nb_rate_auto rate;
    CHECK(base_after_costly_probe(&rate, 10000) < 0.9 * 1000);
}

static void a_flow_alone_keeps_most_of_its_base_when_a_probe_costs_packets(void)
{
    struct nb_rate_auto rate;
    CHECK(base_after_costly_probe(&rate, 1050) >= 0.96 * 1000);
}

static void a_probe_that_costs_packets_delays_the_next_one(void)
{
    struct nb_rate_auto rate;
    base_after_costly_probe(&rate, 1050);
    CHECK_EQUAL(rate.costly, 1);
    struct nb_rate_offer offer = {.phase = NB_RATE_UP, .burst = {9, 8}, .rate = 1100};
    struct nb_rate_result clean = window(1000, 0, 1100);
    nb_rate_judge_probe(&rate, &offer, &clean, 61 * SECOND);
    CHECK_EQUAL(rate.costly, 0);
}

/* The longest bursts after a probe in bursts of 40 lost runs of so many packets. */
static unsigned bursts_after_runs_of(double packets)
{
    struct nb_rate_auto rate;
    struct nb_rate_offer offer = {.phase = NB_RATE_UP, .burst = {40, 36}, .rate = 1100};
    struct nb_rate_result result = window(1000, 0.2, 1100);
    result.run_length = packets;
    cruise(&rate, 1000);
    show_link(&rate, 1050);
    nb_rate_judge_probe(&rate, &offer, &result, 60 * SECOND);
    return rate.burst_most;
}

static void losses_at_the_ends_of_bursts_shorten_them_and_an_outage_does_not(void)
{
    CHECK_EQUAL(bursts_after_runs_of(10), 20);
    CHECK_EQUAL(bursts_after_runs_of(200), NB_BURST_USUAL_MOST);
}

/* ---- below the capacity ---------------------------------------------------------------------------------------- */

/* The base after six probes of which 1050 of 1000 * `scale` packets a second arrived, the last ones `varying` more or
 * less, on a path of 40 ms whose trains show a link of 1060 * `link_scale`. */
static double share_below_capacity(double scale, double varying, double link_scale)
{
    struct nb_rate_auto rate;
    double capacity = 1050 * scale;
    cruise(&rate, 1000 * scale);
    show_link(&rate, 1060 * link_scale);
    for (unsigned i = 0; i < 6; i++) {
        double arrived = capacity * (i % 2 == 0 ? 1 - varying : 1);
        struct nb_rate_offer offer = {.phase = NB_RATE_UP, .burst = {11, 10}, .rate = 1.1 * rate.base};
        struct nb_rate_result result = window(1000, 0, arrived);
        rate.base_arrives = rate.base;
        nb_rate_judge_probe(&rate, &offer, &result, (60 + i) * SECOND);
    }
    return rate.base / capacity;
}

static void a_flow_alone_with_many_packets_in_a_round_trip_stays_one_percent_below_the_capacity(void)
{
    CHECK(share_below_capacity(7, 0, 7) > 0.989); /* 294 packets */
    CHECK(share_below_capacity(7, 0, 7) < 0.991);
}

static void with_few_packets_in_a_round_trip_or_beside_other_flows_it_stays_farther_below(void)
{
    CHECK(share_below_capacity(3, 0, 3) < 0.986);    /* 126 packets */
    CHECK(share_below_capacity(7, 0.04, 7) < 0.986); /* the limit changes */
    CHECK(share_below_capacity(7, 0, 9) < 0.986);    /* trains show a faster link */
}

/* ---- near paths ------------------------------------------------------------------------------------------------ */

/* The base after a probe of 1100 packets a second of which `arrived` did, and no round trip that shows a queue. */
static double base_after_probe_on_a_near_path(double arrived)
{
    struct nb_rate_auto rate;
    struct nb_rate_offer offer = {.phase = NB_RATE_UP, .burst = {11, 10}, .rate = 1100};
    struct nb_rate_result result = window(1000, 0, arrived);
    rate_begin_auto(&rate, (struct nb_burst){8, 20}, 90, 1e12, 7);
    for (unsigned i = 1; i <= 20; i++)
        nb_rate_auto.round_trip(&rate, 100, i * 100 * MS);
    rate.state = NB_RATE_CRUISE;
    rate.base = rate.base_arrives = 1000;
    nb_rate_judge_probe(&rate, &offer, &result, 60 * SECOND);
    return rate.base;
}

static void on_a_near_path_a_probe_that_arrives_in_part_raises_the_base_and_never_lowers_it(void)
{
    CHECK(base_after_probe_on_a_near_path(1050) > 1030);
    CHECK(base_after_probe_on_a_near_path(1050) < 1050);
    CHECK(base_after_probe_on_a_near_path(900) >= 1000); /* a busy host */
}

/* ---- long paths ------------------------------------------------------------------------------------------------ */

/* A round trip of six seconds: what a probe wins is bounded by what trains show. */
static void on_a_long_path_a_probe_goes_to_what_trains_show(void)
{
    struct nb_rate_auto rate;
    struct nb_rate_offer offer = {.phase = NB_RATE_UP, .burst = {9, 8}, .rate = 1100};
    struct nb_rate_result result = window(10000, 0, 1100);
    rate_begin_auto(&rate, (struct nb_burst){8, 20}, 90, 1e12, 7);
    for (unsigned i = 1; i <= 20; i++)
        nb_rate_auto.round_trip(&rate, 6 * SECOND, i * SECOND);
    rate.state = NB_RATE_CRUISE;
    rate.base = rate.base_arrives = 1000;
    show_link(&rate, 3000);
    nb_rate_judge_probe(&rate, &offer, &result, 60 * SECOND);
    CHECK(rate.base > 2500 && rate.base <= 3000);
}

int main(void)
{
    RUN(loss_by_chance_is_never_believed_beyond_three_tenths);
    RUN(a_trial_gives_the_rate_back_when_the_loss_stays);
    RUN(a_trial_believes_no_more_than_three_tenths);
    RUN(where_many_share_the_link_loss_in_a_probe_lowers_the_base);
    RUN(a_flow_alone_keeps_most_of_its_base_when_a_probe_costs_packets);
    RUN(a_probe_that_costs_packets_delays_the_next_one);
    RUN(losses_at_the_ends_of_bursts_shorten_them_and_an_outage_does_not);
    RUN(a_flow_alone_with_many_packets_in_a_round_trip_stays_one_percent_below_the_capacity);
    RUN(with_few_packets_in_a_round_trip_or_beside_other_flows_it_stays_farther_below);
    RUN(on_a_near_path_a_probe_that_arrives_in_part_raises_the_base_and_never_lowers_it);
    RUN(on_a_long_path_a_probe_goes_to_what_trains_show);
    return 0;
}
