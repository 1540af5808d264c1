/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests of automatic rate control on unusual paths (rate_lane.h): hosts that wake up late, flows that share a link,
 * queues that come and go. Rates are packets a second. */
#include "check.h"
#include "rate/rate_pair.h"
#include "rate/rate_probe.h"
#include "rate_begin.h"
#include "rate_lane.h"

/* A tenth of the bursts leaves 2 ms late and is not caught up: 4 % of the time at 5 ms, 20 % at 1 ms. */
static void what_a_late_sender_loses_is_offered_on_top(void)
{
    static const double links[3] = {4000, 8333, 12000};
    double share = 0;
    for (size_t i = 0; i < 3; i++) {
        static struct lane lane;
        lane_init(&lane, links[i], 100 * MS, NETBLT_RATE_AUTO);
        lane.late_permille = 100;
        lane.late_us = 2 * MS;
        lane_run(&lane, 20);
        lane_run(&lane, 20);
        share += (double)lane.arrived / 20 / links[i] / 3;
        CHECK(lane.dropped * 100 <= lane.sent);
    }
    CHECK(share >= 0.95);
}

static void far_away_intervals_forgive_a_late_sender(void)
{
    static struct lane lane;
    lane_init(&lane, 8333, 100 * MS, NETBLT_RATE_AUTO);
    lane_run(&lane, 5);
    unsigned bursts = 0, short_ones = 0;
    for (; bursts < 4000; bursts++) {
        lane_step(&lane);
        short_ones += lane.pair.interval_ms < 4;
        CHECK(lane.pair.size <= NB_BURST_USUAL_MOST);
    }
    CHECK(short_ones * 10 < bursts); /* where the longer ones cannot express the rate */
}

/* Two lanes over one link, burst after burst as they come. */
static void run_two(struct lane *a, struct lane *b, double seconds)
{
    netblt_time end = a->now + (netblt_time)(seconds * 1e6);
    a->arrived = b->arrived = 0;
    while (a->now < end || b->now < end) {
        struct lane *next = a->now <= b->now ? a : b, *other = next == a ? b : a;
        lane_step(next);
        other->free_at = next->free_at;
    }
}

/* The lesser share over the greater one, a minute after a second flow began beside the first. */
static double likeness(netblt_time round_trip_us, uint32_t seed)
{
    static struct lane first, second;
    lane_init(&first, 8333, round_trip_us, NETBLT_RATE_AUTO);
    lane_init(&second, 8333, round_trip_us, NETBLT_RATE_AUTO);
    rate_begin(&second.rate, NETBLT_RATE_AUTO, second.pair, BUFFER_PACKETS, 1e12, seed);
    lane_run(&first, 10);
    second.now = first.now;
    run_two(&first, &second, 60);
    run_two(&first, &second, 60);
    double least = (double)(first.arrived < second.arrived ? first.arrived : second.arrived);
    double sum = (double)(first.arrived + second.arrived);
    CHECK(sum / 60 >= 0.93 * 8333);
    return least / (sum - least);
}

static void two_flows_become_alike(void)
{
    static const netblt_time round_trips[] = {50 * MS, 100 * MS, 300 * MS};
    for (size_t i = 0; i < sizeof round_trips / sizeof *round_trips; i++) {
        double mean = 0;
        for (uint32_t seed = 1; seed <= 8; seed++)
            mean += likeness(round_trips[i], seed * 977) / 8;
        CHECK(mean >= 0.85);
    }
}

/* What a flow with `share` of a link of 8000 packets a second goes above its base, as a share of the link. */
static double probe_of(double share)
{
    struct nb_rate_control rate;
    rate_begin(&rate, NETBLT_RATE_AUTO, (struct nb_burst){8, 20}, BUFFER_PACKETS, 1e12, 7);
    nb_rate_control_round_trip(&rate, 100 * MS, SECOND);
    rate.state.automatic.trains = (struct nb_rate_trains){.packets = 800, .seconds = 0.1, .count = 40};
    rate.state.automatic.base = share * 8000;
    rate.state.automatic.offered.burst = nb_pair_for_rate(rate.state.automatic.base, NB_BURST_USUAL_MOST, 4, false);
    nb_rate_begin_probe(&rate.state.automatic);
    return rate.state.automatic.gain * share;
}

/* By its queue alone a probe may be the larger the shorter it is, and it is shorter for who has more. */
static void probes_of_flows_that_share_a_link_go_above_by_no_more_for_who_has_more(void)
{
    CHECK(probe_of(0.6) <= 1.01 * probe_of(0.5) && probe_of(0.5) <= 1.01 * probe_of(0.4));
    CHECK(probe_of(0.6) >= 0.04);
    CHECK(probe_of(0.99) > probe_of(0.6)); /* alone on the link */
}

static void bursts_that_lost_their_ends_become_longer_again_when_probes_pass(void)
{
    static struct lane lane;
    lane_init(&lane, 8333, 40 * MS, NETBLT_RATE_AUTO);
    lane.queue_s = 0.002; /* 16 packets */
    lane_run(&lane, 10);
    uint16_t shortened = lane.rate.state.automatic.burst_most;
    CHECK(shortened < NB_BURST_USUAL_MOST);
    lane.queue_s = 0.1;
    for (int i = 0; i < 20; i++) {
        lane.link = i % 2 == 0 ? 83333 : 8333; /* free, and taken again */
        lane_run(&lane, 4);
    }
    CHECK(lane.rate.state.automatic.burst_most > shortened);
}

static void more_than_thirty_percent_is_never_taken_for_chance(void)
{
    static struct lane lane;
    lane_init(&lane, 8333, 100 * MS, NETBLT_RATE_AUTO);
    lane.loss_permille = 700; /* from the beginning, where what is lost shows what chance is */
    for (int i = 0; i < 100; i++) {
        lane_run(&lane, 0.1);
        CHECK(lane.rate.state.automatic.loss <= 0.3);
    }
}

/* Where a round trip takes half a minute, a queue that overflows does so for half a minute. */
static void far_away_what_trains_show_is_taken_at_once_and_no_probe_goes_beyond(void)
{
    static struct lane lane;
    lane_init(&lane, 800, 30 * SECOND, NETBLT_RATE_AUTO);
    nb_rate_control_round_trip(&lane.rate, lane.round_trip_us, 0); /* that of OPEN and RESPONSE */
    CHECK(nb_pair_rate(lane.pair) == 400);
    lane_run(&lane, 70); /* one offer reaches the sender, and its effect the receiver */
    CHECK(lane.rate.state.automatic.base > 0.94 * 800 && lane.rate.state.automatic.base < 0.96 * 800);
    lane_run(&lane, 3000);
    CHECK_EQUAL(lane.dropped, 0);
    CHECK(lane.arrived >= 0.93 * 800 * 3000);
}

/* A line that is shaped carries its trains faster than what it carries in the long run. */
static void far_away_trains_much_faster_than_the_start_are_not_believed(void)
{
    static struct lane lane;
    lane_init(&lane, 2400, 30 * SECOND, NETBLT_RATE_AUTO);
    nb_rate_control_round_trip(&lane.rate, lane.round_trip_us, 0);
    lane_run(&lane, 70);
    CHECK(lane.rate.state.automatic.base <= 1.3 * 400);
}

/* `packets` arrive, `distance_us` apart, from `from` on; answers when the next one would. */
static netblt_time arrive_in_a_row(struct nb_rate_control *rate, enum nb_rate_arrival kind, unsigned packets,
                                   netblt_time distance_us, netblt_time from)
{
    for (unsigned i = 0; i < packets; i++, from += distance_us)
        nb_rate_control_arrival(rate, kind, kind == NB_RATE_FRESH ? rate->next_position : 0, from);
    return from;
}

/* A faster offer waits for a new buffer, and none comes while hundreds of packets are retransmitted (AMB-43): a sender
 * may follow then, and what arrives shows whether it does. */
static void AMB_43_retransmissions_show_that_a_faster_offer_is_in_force(void)
{
    struct nb_rate_control rate;
    rate_begin(&rate, NETBLT_RATE_AUTO, (struct nb_burst){8, 20}, BUFFER_PACKETS, 1e12, 7);
    nb_rate_control_round_trip(&rate, 100 * MS, 0);
    netblt_time now = SECOND;
    for (unsigned burst = 0; burst < 10; burst++, now += 20 * MS)
        arrive_in_a_row(&rate, NB_RATE_FRESH, 8, 50, now);
    struct nb_burst offer = nb_rate_control_offer(&rate, 1, now);
    CHECK(nb_pair_rate(offer) >= 1500);
    nb_rate_control_acked(&rate, 1);
    now = arrive_in_a_row(&rate, NB_RATE_REPEAT, 200, 2500, now);
    CHECK(nb_pair_same(nb_rate_control_in_force(&rate), (struct nb_burst){8, 20}));
    arrive_in_a_row(&rate, NB_RATE_REPEAT, 400, 640, now);
    CHECK(nb_pair_same(nb_rate_control_in_force(&rate), offer));
}

/* Without an ack nothing is in force, however fast it comes. */
static void AMB_43_retransmissions_show_nothing_of_an_offer_that_was_not_acked(void)
{
    struct nb_rate_control rate;
    rate_begin(&rate, NETBLT_RATE_AUTO, (struct nb_burst){8, 20}, BUFFER_PACKETS, 1e12, 7);
    nb_rate_control_round_trip(&rate, 100 * MS, 0);
    netblt_time now = arrive_in_a_row(&rate, NB_RATE_FRESH, 80, 2500, SECOND);
    nb_rate_control_offer(&rate, 1, now);
    arrive_in_a_row(&rate, NB_RATE_REPEAT, 400, 640, now);
    CHECK(nb_pair_same(nb_rate_control_in_force(&rate), (struct nb_burst){8, 20}));
}

int main(void)
{
    RUN(what_a_late_sender_loses_is_offered_on_top);
    RUN(far_away_intervals_forgive_a_late_sender);
    RUN(two_flows_become_alike);
    RUN(probes_of_flows_that_share_a_link_go_above_by_no_more_for_who_has_more);
    RUN(bursts_that_lost_their_ends_become_longer_again_when_probes_pass);
    RUN(more_than_thirty_percent_is_never_taken_for_chance);
    RUN(far_away_what_trains_show_is_taken_at_once_and_no_probe_goes_beyond);
    RUN(far_away_trains_much_faster_than_the_start_are_not_believed);
    RUN(AMB_43_retransmissions_show_that_a_faster_offer_is_in_force);
    RUN(AMB_43_retransmissions_show_nothing_of_an_offer_that_was_not_acked);
    return 0;
}
