/* SPDX-License-Identifier: BSD-2-Clause */
/* Automatic rate control: start-up, from the negotiated pair to the first limit. */
#include "rate/rate_start.h"

#include "rate/rate_loss.h"
#include "rate/rate_pair.h"
#include "rate/rate_path.h"

static void begin_cruise(struct nb_rate_auto *rate, netblt_time now)
{
    rate->state = NB_RATE_CRUISE;
    rate->successes = 0;
    rate->base_measured = false;
    rate->next_probe_at = now;
}

static bool path_is_short(const struct nb_rate_auto *rate)
{
    return rate->round_trip_us != 0 && rate->round_trip_us < NB_RATE_BRIEF_US;
}

/* What the first trains show; 0 where that is hardly another rate than the one that is in force: a sender may space its
 * packets, and a path too. */
static double first_trains(const struct nb_rate_auto *rate)
{
    double shown = nb_rate_trains_rough_rate(&rate->trains), offered = rate->epochs.in_force.rate;
    bool differs = shown < NB_RATE_NEARLY_ALL * offered || NB_RATE_NEARLY_ALL * shown > offered;
    return differs && !nb_rate_path_is_near(rate) ? shown : 0;
}

/* Packets in a row arrive farther apart than was offered: what the path carries by that. 0: they do not. On average
 * even less arrives while retransmissions of the first buffer are awaited. Later, pauses of the sender may be within
 * rows, and the average has to confirm them. */
static double slower_trains(const struct nb_rate_auto *rate, const struct nb_rate_result *result)
{
    double shown = first_trains(rate), offered = rate->epochs.in_force.rate;
    bool first = offered <= nb_pair_rate(rate->negotiated);
    bool sure = first || NB_RATE_NEARLY_ALL * shown < result->sent_rate;
    return sure && shown < offered ? NB_RATE_TRAIN_SHARE * shown : 0;
}

/* The limit was met: the queue grows, or what arrives is less than what was offered. */
static bool start_met_the_limit(struct nb_rate_auto *rate, const struct nb_rate_result *result)
{
    bool queue = nb_rate_a_queue_stands(rate);
    double offered = rate->epochs.in_force.rate;
    if (nb_rate_lost_too_much(rate, result)) {
        nb_rate_set_base(rate, nb_rate_below_capacity(rate) * nb_rate_carried(rate, result),
                         "start: loss beyond chance");
        return true;
    }
    bool less = result->sent_rate < NB_RATE_NEARLY_ALL * offered && !nb_rate_sender_was_late(rate, result);
    bool again = less && rate->doubted;
    double trains = less ? slower_trains(rate, result) : 0;
    if (queue || trains > 0 || (again && !nb_rate_path_is_near(rate) && nb_rate_path_is_the_limit(rate))) {
        double arrives = NB_RATE_BACK_OFF_SHARE * (result->sent_rate < offered ? result->sent_rate : offered);
        nb_rate_set_base(rate, arrives > trains ? arrives : trains,
                         queue ? "start: a queue grows" : "start: less arrives than was offered");
        return true;
    }
    rate->doubted = less && !again;
    return false;
}

/* All windows of the offer in force as one: the best of their rates, the sum of their packets. */
static bool start_result(const struct nb_rate_auto *rate, struct nb_rate_result *result)
{
    if (!nb_rate_window_result(&rate->window, result) || result->arrival_rate < rate->best) {
        result->arrival_rate = rate->best;
        result->sent_rate = rate->best;
    }
    result->packets += rate->best_packets;
    result->lost += rate->best_lost;
    double bursts_s = NB_RATE_BURSTS_MIN * rate->epochs.in_force.burst.interval_ms / NB_MS_PER_S;
    bool trains = first_trains(rate) > 0;
    return result->packets >= NB_RATE_PACKETS_MIN && result->arrival_rate > 0 &&
           (rate->best > 0 || trains || result->seconds >= bursts_s);
}

static double start_growth(const struct nb_rate_auto *rate, double from)
{
    double trains = nb_rate_trains_rough_rate(&rate->trains);
    if (trains > 0 && NB_RATE_NEARLY_ALL * trains < from && !nb_rate_path_is_near(rate))
        return NB_RATE_START_GROWTH_GENTLE; /* the sender spaces its packets, or the link carries just that */
    if (rate->growth <= NB_RATE_START_GROWTH_GENTLE || !path_is_short(rate))
        return rate->growth;
    if (from >= NB_RATE_START_GENTLE_FROM)
        return NB_RATE_START_GROWTH_GENTLE;
    if (!nb_rate_path_is_near(rate))
        return rate->growth;
    double at_once = NB_RATE_START_GENTLE_FROM / from;
    return at_once > rate->growth ? at_once : rate->growth;
}

/* On a long path nothing faster is tried than this. Trains that are slower than what arrives show no link. */
static double what_trains_show(const struct nb_rate_auto *rate, double from, double arrives)
{
    double trains = nb_rate_trains_rate(&rate->trains);
    if (trains == 0)
        trains = first_trains(rate);
    if (path_is_short(rate) || trains < NB_RATE_NEARLY_ALL * arrives)
        return 0;
    if (nb_rate_path_is_long(rate))
        return nb_rate_shown_on_long_path(rate, from);
    return NB_RATE_TRAIN_SHARE * trains;
}

/* Of the first buffer the path carried little, and the rest had to be requested. A gap before a packet is not all that
 * shows loss: nothing may have arrived after it. */
static bool path_drops_most(const struct nb_rate_auto *rate, const struct nb_rate_result *result)
{
    double lost = result->lost + rate->requested;
    return result->sent_rate < NB_RATE_NEARLY_ALL * rate->epochs.in_force.rate &&
           lost > NB_RATE_CHANCE_MAX * (result->packets + result->lost);
}

void nb_rate_step_start(struct nb_rate_auto *rate, netblt_time now)
{
    struct nb_rate_result result;
    if (rate->epochs.count != 0 || !start_result(rate, &result))
        return;
    rate->arrived = result.sent_rate;
    if (start_met_the_limit(rate, &result)) {
        begin_cruise(rate, now);
        return;
    }
    if (rate->doubted) { /* a host that was busy otherwise? Once more */
        rate->best = rate->best_packets = rate->best_lost = 0;
        nb_rate_window_begin(&rate->window, now);
        return;
    }
    if (path_drops_most(rate, &result)) {
        rate->growth = NB_RATE_START_GROWTH_GENTLE;
        nb_rate_set_base(rate, result.sent_rate, "start: as much as arrives");
        return;
    }
    nb_rate_learn_loss(rate, &result, 0.5);
    double from = rate->epochs.in_force.rate;
    double shown = what_trains_show(rate, from, result.sent_rate);
    if (shown > 0)
        nb_rate_set_base(rate, shown > rate->base ? shown : rate->base, "start: what trains show");
    else if (!nb_rate_path_is_long(rate))
        nb_rate_set_base(rate, from * start_growth(rate, from), "start: faster");
    bool sure = shown > 0 && nb_rate_trains_rate(&rate->trains) > 0;
    if (sure || nb_rate_path_is_long(rate) || rate->base >= nb_rate_most_possible(rate))
        begin_cruise(rate, now);
}
