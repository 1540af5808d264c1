/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests of the rules of automatic rate control, on the simulated paths of rate_lane.h. Rates are packets a second. */
#include "check.h"
#include "rate/rate_pair.h"
#include "rate_begin.h"
#include "rate_lane.h"

/* ---- the rules ------------------------------------------------------------------------------------------------- */

static void fixed_parameters_stay_exactly_fixed(void)
{
    static struct lane lane;
    lane_init(&lane, 200, 100 * MS, NETBLT_RATE_FIXED); /* half of what is sent */
    for (int i = 0; i < 10; i++) {
        lane_run(&lane, 5);
        CHECK_EQUAL(lane.pair.size, 8);
        CHECK_EQUAL(lane.pair.interval_ms, 20);
    }
    CHECK_EQUAL(nb_rate_control_credit(&lane.rate, 77), 77);
}

static void the_start_reaches_the_link_within_a_few_round_trips(void)
{
    static struct lane lane;
    lane_init(&lane, 8333, 100 * MS, NETBLT_RATE_AUTO);
    lane_run(&lane, 1.5);
    CHECK(nb_pair_rate(lane.pair) > 0.7 * 8333 && nb_pair_rate(lane.pair) < 1.3 * 8333);
    CHECK(lane.dropped * 100 < lane.sent);
    lane_init(&lane, 400, 100 * MS, NETBLT_RATE_AUTO); /* the start itself */
    lane_run(&lane, 5);
    CHECK(nb_pair_rate(lane.pair) < 1.3 * 400);
}

/* Some of so many seeds lose twice what is usual in the first buffer. */
static void a_few_packets_lost_at_the_start_do_not_keep_the_rate_down(void)
{
    for (uint64_t seed = 1; seed <= 40; seed++) {
        static struct lane lane;
        lane_init(&lane, 8333, 5000, NETBLT_RATE_AUTO);
        lane.random.state = seed;
        lane.loss_permille = 20;
        lane_run(&lane, 3);
        CHECK(nb_pair_rate(lane.pair) > 0.5 * 8333);
    }
}

static void a_cruise_uses_the_link_and_overflows_no_queue(void)
{
    static const struct {
        double link;
        netblt_time round_trip_us;
        unsigned loss_permille;
    } cases[] = {{8333, 100 * MS, 0},  {8333, 100 * MS, 50}, {8333, 600 * MS, 10},
                 {833, 1800 * MS, 10}, {83333, 20 * MS, 1},  {833333, 1 * MS, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        static struct lane lane;
        lane_init(&lane, cases[i].link, cases[i].round_trip_us, NETBLT_RATE_AUTO);
        lane.loss_permille = cases[i].loss_permille;
        double start = cases[i].round_trip_us > SECOND ? 60 : 20;
        lane_run(&lane, start);
        lane_run(&lane, start);
        double share = (double)lane.arrived / start / cases[i].link / (1 - cases[i].loss_permille / 1000.0);
        if (share < 0.94 || lane.dropped * 100 > lane.sent)
            fprintf(stderr, "case %zu: share %.3f, dropped %.4f\n", i, share, (double)lane.dropped / (double)lane.sent);
        CHECK(share >= 0.94 && share <= 1.001);
        CHECK(lane.dropped * 100 <= lane.sent);
    }
}

/* What it loses itself, as a share of what is sent, once it has started. */
static double own_loss(double link, double queue_s)
{
    static struct lane lane;
    lane_init(&lane, link, 100 * MS, NETBLT_RATE_AUTO);
    lane.queue_s = queue_s;
    lane_run(&lane, 30);
    lane_run(&lane, 30);
    CHECK((double)lane.arrived / 30 >= 0.92 * link);
    return (double)lane.dropped / (double)lane.sent;
}

static void probes_into_a_short_queue_cost_little(void)
{
    CHECK(own_loss(8333, 0.002) < 0.008); /* 16 packets */
    CHECK(own_loss(83, 0.1) < 0.005);     /* 8 packets, of which a probe of the usual strength leaves as many */
}

static void round_trips_that_scatter_are_no_queue(void)
{
    static struct lane lane;
    lane_init(&lane, 4166, 20 * MS, NETBLT_RATE_AUTO);
    lane.scatter_us = 14 * MS;
    lane_run(&lane, 10);
    lane_run(&lane, 20);
    CHECK((double)lane.arrived / 20 >= 0.955 * 4166);
    CHECK(lane.dropped == 0);
}

static void a_bad_moment_of_the_path_does_not_slow(void)
{
    static struct lane lane;
    lane_init(&lane, 8333, 50 * MS, NETBLT_RATE_AUTO);
    lane_run(&lane, 10);
    uint64_t sent = 0, moments = 40;
    for (uint64_t i = 0; i < moments; i++) {
        lane.loss_permille = 500; /* for 5 ms in half a second: 0.5 % in all, a tenth of a window */
        lane_run(&lane, 0.005);
        lane.loss_permille = 0;
        lane_run(&lane, 0.495);
        sent += lane.sent;
    }
    CHECK((double)sent / (0.495 * (double)moments) >= 0.95 * 8333);
}

static void loss_by_chance_does_not_slow(void)
{
    static struct lane lane;
    lane_init(&lane, 8333, 50 * MS, NETBLT_RATE_AUTO);
    lane_run(&lane, 10);
    lane_run(&lane, 10);
    double before = (double)lane.sent;
    lane.loss_permille = 80; /* it begins in the middle of the transfer */
    lane_run(&lane, 10);
    lane_run(&lane, 10);
    CHECK((double)lane.sent > 0.97 * before);
}

static void a_queue_makes_it_back_off_before_anything_is_lost(void)
{
    static struct lane lane;
    lane_init(&lane, 8333, 50 * MS, NETBLT_RATE_AUTO);
    lane.queue_s = 0.4;
    lane_run(&lane, 10);
    lane.link = 5000;
    lane_run(&lane, 3);
    CHECK_EQUAL(lane.dropped, 0);
    lane_run(&lane, 10);
    CHECK((double)lane.sent / 10 <= 5000 * 1.01 && (double)lane.arrived / 10 >= 5000 * 0.9);
    CHECK(lane.free_at - (double)lane.now < 30 * MS); /* and the queue is empty */
}

/* Where a burst takes longer than a round trip, data that a busy host is late with shows nothing of the path. */
static void near_by_a_sender_that_lags_behind_is_not_slowed_further(void)
{
    static struct lane lane;
    lane_init(&lane, 0, MS / 5, NETBLT_RATE_AUTO);
    lane.sender_most = 20000;
    lane_run(&lane, 3);
    CHECK((double)lane.sent / 3 > 0.8 * lane.sender_most);
    lane.sender_most = 60000; /* it can do more again: at once, as nothing slower was offered meanwhile */
    lane_run(&lane, 0.5);
    CHECK((double)lane.sent / 0.5 > 0.8 * lane.sender_most);
}

static void near_by_time_in_which_nothing_came_is_no_queue(void)
{
    static struct lane lane;
    lane_init(&lane, 0, MS / 5, NETBLT_RATE_AUTO);
    lane.sender_most = 90000;
    lane_run(&lane, 2);
    double before = lane.rate.state.automatic.base;
    nb_rate_control_acked(&lane.rate, lane.rate.state.automatic.offered.seq);
    for (int i = 0; i < 200; i++) { /* every packet finds a host that was away for 6 ms */
        lane.now += 6 * MS;
        nb_rate_control_round_trip(&lane.rate, 6 * MS + 100, lane.now);
        nb_rate_control_arrival(&lane.rate, NB_RATE_FRESH, lane.position++, lane.now);
    }
    CHECK(lane.rate.state.automatic.base >= before);
    for (int i = 0; i < 400; i++) { /* the same round trip while packets come all the time */
        lane.now += MS / 2;
        nb_rate_control_round_trip(&lane.rate, 6 * MS + 100, lane.now);
        nb_rate_control_arrival(&lane.rate, NB_RATE_FRESH, lane.position++, lane.now);
    }
    CHECK(lane.rate.state.automatic.base < before);
}

static void near_by_a_queue_and_loss_still_slow(void)
{
    static struct lane lane;
    lane_init(&lane, 80000, MS / 5, NETBLT_RATE_AUTO);
    lane.queue_s = 0.02;
    lane_run(&lane, 3);
    CHECK(lane.dropped * 100 < lane.sent * 5);
    lane_run(&lane, 3);
    CHECK((double)lane.arrived / 3 > 0.9 * 80000 && lane.dropped * 100 < lane.sent);
    lane.queue_s = 0.0025; /* no round trip shows it */
    lane_run(&lane, 3);
    lane_run(&lane, 3);
    CHECK((double)lane.arrived / 3 > 0.85 * 80000 && lane.dropped * 100 < lane.sent * 3);
}

static void near_by_what_is_under_way_follows_what_arrives_not_what_is_offered(void)
{
    static struct lane lane;
    lane_init(&lane, 0, MS / 5, NETBLT_RATE_AUTO);
    lane.sender_most = 90000;
    lane_run(&lane, 2);
    CHECK(lane.rate.state.automatic.base > 4 * lane.sender_most);
    uint64_t begun = lane.rate.next_position / BUFFER_PACKETS;
    uint64_t two_ms = 90000 * 2 / 1000 / BUFFER_PACKETS;
    CHECK(nb_rate_control_window_allows(&lane.rate, begun + two_ms));
    CHECK(!nb_rate_control_window_allows(&lane.rate, begun + 2 * two_ms + 4));
    lane_init(&lane, 8333, 100 * MS, NETBLT_RATE_AUTO); /* far away the credit is the only bound */
    lane_run(&lane, 2);
    CHECK(nb_rate_control_window_allows(&lane.rate, UINT64_MAX));
}

/* The receiver cannot know that the sender means the negotiated pair; it sees that what was negotiated arrives. */
static void a_fixed_sender_is_not_slowed_while_all_arrives(void)
{
    static const struct nb_burst pairs[] = {{16, 2}, {44, 10}, {8, 20}, {100, 3}, {1, 7}, {44, 0}};
    static const netblt_time round_trips[] = {MS / 5, 30 * MS, 300 * MS};
    for (size_t i = 0; i < 3 * (sizeof pairs / sizeof *pairs); i++) {
        static struct lane lane;
        struct nb_burst pair = pairs[i / 3];
        lane_init(&lane, 0, round_trips[i % 3], NETBLT_RATE_AUTO);
        lane.pair = lane.sender_means = pair;
        lane.sender_most = pair.interval_ms == 0 ? 50000 : 0;
        rate_begin(&lane.rate, NETBLT_RATE_AUTO, pair, BUFFER_PACKETS, 1e12, 7);
        if (pair.interval_ms == 0)
            lane.pair = (struct nb_burst){50, 1};
        lane_run(&lane, 20);
        lane_run(&lane, 5);
        double wanted = pair.interval_ms == 0 ? lane.sender_most : nb_pair_rate(pair);
        if ((double)lane.sent / 5 < 0.99 * wanted)
            fprintf(stderr, "%u/%u, round trip %u us: %.3f\n", pair.size, pair.interval_ms,
                    (unsigned)round_trips[i % 3], (double)lane.sent / 5 / wanted);
        CHECK((double)lane.sent / 5 >= 0.99 * wanted);
    }
}

static void NEG_09_what_the_sender_restricted_was_never_in_force(void)
{
    static struct lane lane;
    lane_init(&lane, 0, 30 * MS, NETBLT_RATE_AUTO);
    rate_begin(&lane.rate, NETBLT_RATE_AUTO, (struct nb_burst){16, 2}, BUFFER_PACKETS, 1e12, 7);
    lane.pair = (struct nb_burst){16, 2};
    while (lane.rate.state.automatic.epochs.in_force.rate <= 8000)
        lane_run(&lane, 0.01);
    nb_rate_control_null_ack(&lane.rate, lane.rate.state.automatic.offered.seq, (struct nb_burst){16, 2});
    CHECK_EQUAL(lane.rate.state.automatic.epochs.in_force.rate, 8000);
    CHECK_EQUAL(lane.rate.state.automatic.base, 8000);
}

static void NEG_09_who_does_not_pace_restricts_no_burst_of_a_paced_offer(void)
{
    bool restricted;
    struct nb_burst unpaced = {44, 0};
    struct nb_burst settled = rate_restrict((struct nb_burst){1200, 1}, unpaced, unpaced, &restricted);
    CHECK(settled.size == 1200 && settled.interval_ms == 1 && !restricted);
    settled = rate_restrict((struct nb_burst){1200, 1}, unpaced, (struct nb_burst){44, 1}, &restricted);
    CHECK(settled.size == 44 && settled.interval_ms == 1 && restricted);
}

static void a_fixed_sender_is_slowed_when_the_path_carries_less(void)
{
    static struct lane lane;
    lane_init(&lane, 3000, 30 * MS, NETBLT_RATE_AUTO);
    lane.pair = lane.sender_means = (struct nb_burst){16, 2};
    rate_begin(&lane.rate, NETBLT_RATE_AUTO, lane.pair, BUFFER_PACKETS, 1e12, 7);
    lane_run(&lane, 10);
    lane_run(&lane, 10);
    CHECK((double)lane.arrived / 10 > 0.85 * 3000 && lane.dropped * 50 < lane.sent);
}

static void its_own_loss_makes_it_back_off_where_no_queue_can_show(void)
{
    static struct lane lane;
    uint64_t sent = 0, dropped = 0;
    for (netblt_time round_trip_us = 30 * MS; round_trip_us <= 50 * MS; round_trip_us += 5 * MS) {
        lane_init(&lane, 8333, round_trip_us, NETBLT_RATE_AUTO);
        lane.queue_s = 0.003; /* 25 packets */
        lane_run(&lane, 10);
        lane_run(&lane, 10);
        CHECK((double)lane.arrived / 10 >= 8333 * 0.85);
        sent += lane.sent;
        dropped += lane.dropped;
    }
    CHECK(dropped * 100 <= sent * 3);
    lane.link = 4000;
    lane_run(&lane, 5);
    lane_run(&lane, 10);
    CHECK((double)lane.sent / 10 <= 4000 * 1.05 && (double)lane.arrived / 10 >= 4000 * 0.8);
}

static void a_faster_path_is_found_and_a_longer_one_is_not_taken_for_a_queue(void)
{
    static struct lane lane;
    lane_init(&lane, 3000, 50 * MS, NETBLT_RATE_AUTO);
    lane_run(&lane, 10);
    lane.link = 8333;
    lane_run(&lane, 10);
    lane_run(&lane, 5);
    CHECK((double)lane.arrived / 5 >= 8333 * 0.9);
    lane.round_trip_us = 150 * MS;
    lane_run(&lane, 20);
    lane_run(&lane, 10);
    CHECK((double)lane.arrived / 10 >= 8333 * 0.9);
}

static void an_outage_halves_the_rate_once_and_it_recovers(void)
{
    static struct lane lane;
    lane_init(&lane, 8333, 50 * MS, NETBLT_RATE_AUTO);
    lane_run(&lane, 10);
    double before = lane.rate.state.automatic.base;
    lane.cut = true;
    lane_run(&lane, 3);
    nb_rate_control_timeout(&lane.rate);
    lane.cut = false;
    lane.rate.next_position = lane.position; /* what was lost meanwhile is retransmitted, not judged */
    nb_rate_control_arrival(&lane.rate, NB_RATE_FRESH, lane.position++, lane.now);
    CHECK(lane.rate.state.automatic.base > 0.45 * before && lane.rate.state.automatic.base < 0.55 * before);
    lane_run(&lane, 5);
    lane_run(&lane, 5);
    CHECK((double)lane.arrived / 5 >= 8333 * 0.9);
}

static void without_timeouts_a_silent_sender_is_merely_idle(void)
{
    static struct lane lane;
    lane_init(&lane, 8333, 50 * MS, NETBLT_RATE_AUTO);
    lane_run(&lane, 10);
    double before = lane.rate.state.automatic.base;
    lane.now += 30 * SECOND;
    nb_rate_control_null_ack(&lane.rate, lane.acked, lane.pair);
    lane_run(&lane, 0.2);
    CHECK(lane.rate.state.automatic.base > 0.95 * before && lane.rate.state.automatic.base < 1.05 * before);
}

static void NEG_09_what_the_sender_reports_is_offered_from_then_on(void)
{
    static struct lane lane;
    lane_init(&lane, 0, 10 * MS, NETBLT_RATE_AUTO);
    lane_run(&lane, 1);
    struct nb_burst cap = {5, 10};
    nb_rate_control_null_ack(&lane.rate, lane.rate.state.automatic.offered.seq, cap);
    for (uint16_t seq = 1; seq < 50; seq++) {
        struct nb_burst burst =
            nb_rate_control_offer(&lane.rate, (uint16_t)(lane.next_seq + seq), lane.now + seq * SECOND);
        CHECK(burst.size <= cap.size && burst.interval_ms >= cap.interval_ms);
    }
}

static void NEG_09_a_sender_with_fixed_bursts_keeps_its_rate(void)
{
    struct nb_burst fixed = {30, 50};
    static struct nb_rate_control rate;
    rate_begin(&rate, NETBLT_RATE_AUTO, fixed, BUFFER_PACKETS, 1e12, 7);
    rate.state.automatic.offered.burst = (struct nb_burst){6, 5}; /* twice as fast, in smaller bursts */
    nb_rate_control_null_ack(&rate, rate.state.automatic.offered.seq, (struct nb_burst){6, 50});
    rate.state.automatic.base = 1200;
    struct nb_burst burst = nb_rate_control_offer(&rate, 2, SECOND);
    CHECK(burst.size == fixed.size && burst.interval_ms == fixed.interval_ms);
}

static void the_receivers_own_limit_bounds_every_offer(void)
{
    static struct lane lane;
    lane_init(&lane, 0, 10 * MS, NETBLT_RATE_AUTO);
    rate_begin(&lane.rate, NETBLT_RATE_AUTO, lane.pair, BUFFER_PACKETS, 3000, 7);
    for (int i = 0; i < 50; i++) {
        lane_run(&lane, 0.1);
        CHECK(nb_pair_rate(lane.pair) <= 3000);
    }
    CHECK(nb_pair_rate(lane.pair) >= 2900);
}

static void a_link_faster_than_any_offer_is_reached_in_under_a_second(void)
{
    static struct lane lane;
    lane_init(&lane, 0, MS / 5, NETBLT_RATE_AUTO);
    lane_run(&lane, 0.8);
    CHECK(nb_pair_rate(lane.pair) > 2e6); /* 23 Gb/s of 1456-byte packets */
}

static void a_constant_flow_beside_it_keeps_its_half(void)
{
    static struct lane lane;
    lane_init(&lane, 8333, 50 * MS, NETBLT_RATE_AUTO);
    lane.others = 0.5;
    lane_run(&lane, 10);
    lane_run(&lane, 10);
    CHECK((double)lane.sent / 10 <= 8333 * 0.505 && (double)lane.arrived / 10 >= 8333 * 0.45);
}

static void the_credit_covers_three_round_trips_and_no_more_than_was_negotiated(void)
{
    static struct lane lane;
    lane_init(&lane, 8333, 100 * MS, NETBLT_RATE_AUTO);
    lane_run(&lane, 10);
    double buffers = 8333 * 0.3 / BUFFER_PACKETS;
    unsigned credit = nb_rate_control_credit(&lane.rate, 10000);
    CHECK(credit >= buffers + 2 && credit <= 2 * buffers + 8);
    CHECK_EQUAL(nb_rate_control_credit(&lane.rate, 4), 4);
}

/* ---- the sender ------------------------------------------------------------------------------------------------ */

static void AMB_43_an_automatic_sender_follows_any_offer_up_to_its_limit(void)
{
    struct nb_burst now = {8, 20}, settled;
    bool restricted;
    settled = rate_follow((struct nb_burst){500, 1}, now, 1e12, &restricted);
    CHECK(settled.size == 500 && settled.interval_ms == 1 && !restricted);
    settled = rate_follow((struct nb_burst){500, 1}, now, 30000, &restricted);
    CHECK(settled.size == 30 && settled.interval_ms == 1 && restricted);
    settled = rate_follow((struct nb_burst){3, 10}, now, 30000, &restricted);
    CHECK(settled.size == 3 && settled.interval_ms == 10 && !restricted);
    settled = rate_follow((struct nb_burst){3, 1}, now, 10, &restricted);
    CHECK(settled.size == 1 && settled.interval_ms == 100 && restricted);
    settled = rate_follow((struct nb_burst){0, 5}, now, 1e12, &restricted);
    CHECK(settled.size == 8 && settled.interval_ms == 5 && restricted); /* AMB-11 */
}

/* A decision shows its effect a round trip later: where that takes more than five seconds and trains show
 * nothing, the start ends with what was proposed, and no probe is believed for more than it tried. */
static void far_away_the_start_ends_at_once_and_steps_are_no_longer_than_probes(void)
{
    static struct lane lane;
    lane_init(&lane, 0, 30 * SECOND, NETBLT_RATE_AUTO);
    nb_rate_control_round_trip(&lane.rate, lane.round_trip_us, 0); /* that of OPEN and RESPONSE */
    double before = nb_pair_rate(lane.pair);
    for (int i = 0; i < 250; i++) { /* later the lane could not hold the offers of a round trip */
        lane_run(&lane, 5);
        CHECK(lane.rate.state.automatic.base <= 1.3 * before);
        before = lane.rate.state.automatic.base;
    }
    CHECK_EQUAL(lane.rate.state.automatic.state, NB_RATE_CRUISE);
    CHECK(before > 800); /* but it does go on */
}

int main(void)
{
    RUN(fixed_parameters_stay_exactly_fixed);
    RUN(the_start_reaches_the_link_within_a_few_round_trips);
    RUN(a_few_packets_lost_at_the_start_do_not_keep_the_rate_down);
    RUN(a_cruise_uses_the_link_and_overflows_no_queue);
    RUN(probes_into_a_short_queue_cost_little);
    RUN(round_trips_that_scatter_are_no_queue);
    RUN(a_bad_moment_of_the_path_does_not_slow);
    RUN(loss_by_chance_does_not_slow);
    RUN(a_queue_makes_it_back_off_before_anything_is_lost);
    RUN(near_by_a_sender_that_lags_behind_is_not_slowed_further);
    RUN(near_by_time_in_which_nothing_came_is_no_queue);
    RUN(near_by_a_queue_and_loss_still_slow);
    RUN(near_by_what_is_under_way_follows_what_arrives_not_what_is_offered);
    RUN(a_fixed_sender_is_not_slowed_while_all_arrives);
    RUN(NEG_09_what_the_sender_restricted_was_never_in_force);
    RUN(NEG_09_who_does_not_pace_restricts_no_burst_of_a_paced_offer);
    RUN(a_fixed_sender_is_slowed_when_the_path_carries_less);
    RUN(its_own_loss_makes_it_back_off_where_no_queue_can_show);
    RUN(a_faster_path_is_found_and_a_longer_one_is_not_taken_for_a_queue);
    RUN(an_outage_halves_the_rate_once_and_it_recovers);
    RUN(without_timeouts_a_silent_sender_is_merely_idle);
    RUN(NEG_09_what_the_sender_reports_is_offered_from_then_on);
    RUN(NEG_09_a_sender_with_fixed_bursts_keeps_its_rate);
    RUN(the_receivers_own_limit_bounds_every_offer);
    RUN(a_link_faster_than_any_offer_is_reached_in_under_a_second);
    RUN(a_constant_flow_beside_it_keeps_its_half);
    RUN(the_credit_covers_three_round_trips_and_no_more_than_was_negotiated);
    RUN(AMB_43_an_automatic_sender_follows_any_offer_up_to_its_limit);
    RUN(far_away_the_start_ends_at_once_and_steps_are_no_longer_than_probes);
    return 0;
}
