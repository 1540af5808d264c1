/* SPDX-License-Identifier: BSD-2-Clause */
#include "rate_decide.h"

#include "rate_pair.h"

#define SECOND_US 1e6

/* ---- constants: docs/rate-control.md ------------------------------------------------------------------------- */

/* START: packets and, of what was offered, the share that must arrive for the rate to grow. */
#define START_PACKETS_MIN 24
#define START_BURSTS_MIN 4
/* Where steps take no time they may be small and need no trains; and as a queue shows at once, nothing else tells of
 * the path there: what is missing without one is missing because a host was busy. */
#define START_SHORT_PATH_US 20000
#define START_GROWTH_SHORT_PATH 2
/* Below so many packets a second a buffer, and so a step, takes long all the same. */
#define START_GENTLY_FROM 8000
#define START_GROWTH_NEAR 16
#define START_DOUBTS_MAX 1
/* A jump to what trains show is bounded by this factor, as trains overrate a link that is shaped or shared. */
#define START_JUMP_MAX 32
/* On a longer path an offer too fast floods it for as long: the user's start is taken for its rate, and pulses test it.
 */
#define START_ROUND_TRIP_MAX_US 5000000
#define START_FOLLOWED 0.85
#define START_TRAIN_SHARE 0.95 /* trains overrate a link that others use too */
/* CRUISE stays this much below the capacity that a pulse found, so that the queue empties. */
#define BELOW_CAPACITY 0.985
/* Of that, this share is of the link and not of what arrives: two flows that meet the limit together become alike. */
#define LEVELLING 0.025
#define MANY_SHARES 3
/* Fairness: what one cycle may add when a pulse found the limit, as a share of the link; the same for all flows. On
 * long paths less, as what is too much queues for a round trip. */
#define ADDITIVE_QUEUE_US 18000.0
#define ADDITIVE_MIN 0.02
#define ADDITIVE_MAX 0.05
#define TRAIN_CREDIBLE 100 /* times what arrives */
#define GAIN_MAX 0.25
#define GAIN_MIN 0.08
/* Where packets are so few that even this gain would leave a queue of 40 ms and a quarter of the round trip, a pulse
 * goes less far. */
#define GAIN_LEAST 0.04
#define GAIN_MIN_QUEUE_US 40000
#define GAIN_MIN_QUEUE_SHARE 4
#define PROVEN_SHARE 0.6 /* of what a pulse has shown to be free, at first */
/* A pulse counts as passed when this share of what it offered above the base arrived. */
#define PULSE_PASSED 0.85
/* And it must show in what arrives, gaps not counted: a queue that overflows at once shows nowhere else. */
#define PULSE_ARRIVED 0.33
#define PULSE_PACKETS_MIN 64
#define PULSE_US_MIN 20000
/* Fewer bursts than this give no exact rate. */
#define BURSTS_MEASURED 8
/* As long as pulses pass they may be larger. */
#define BOLDNESS_GROWTH 1.5
#define BOLDNESS_MAX 4.0
#define TRAINS_BELIEVED_PULSES 2
/* The queue that a pulse may leave: a twelfth of the round trip, 1.5 to 20 ms. */
#define PULSE_QUEUE_SHARE 12
#define PULSE_QUEUE_MIN_US 1500
#define PULSE_QUEUE_MAX_US 20000
/* A round trip this much above the path's own tells of a queue: a tenth, 4 to 20 ms. The same for all flows, or
 * those with the lower limit would starve. */
#define QUEUE_SHARE 10
#define QUEUE_MIN_US 4000
#define QUEUE_MAX_US 20000
#define SCATTER_TIMES 4
#define BACK_OFF_SHARE 0.97
#define DRAIN_MIN 0.05
#define DRAIN_MAX 0.25
/* Back-offs in a row that shorten no queue: then it is the path that became longer. */
#define BACK_OFFS_IN_VAIN 3
/* Loss beyond what chance explains: three standard deviations and 2 %. */
#define LOSS_DEVIATIONS2 9.0
#define LOSS_MARGIN 0.02
#define JUDGED_PACKETS_MIN 32
#define JUDGED_BURSTS_MIN 3
/* To see loss a second time must not take longer than this. */
#define WAIT_ROUND_TRIPS 2
/* Shorter bursts could not say a rate exactly enough. */
/* No path that anybody uses loses more by chance. Beyond it every loss slows. */
#define CHANCE_MAX 0.3
#define CHANCE_CUT_MIN 1.05 /* a smaller step tells nothing about the cause of loss */
#define UNMOVED_MAX 4
#define TRIAL_PACKETS 400 /* nor do fewer packets at the lower rate */
#define BURST_LEAST 8
#define PASSED_BEFORE_LONGER_BURSTS 16 /* each trial may lose packets */
#define LOSS_RUN_OF_BURSTS 2.5         /* packets lost in a row: the end of a burst, not chance */
#define CYCLE_US_MIN 25000
/* Each pulse that cost packets doubles the time to the next one, so many times at most. */
#define COSTLY_MAX 5
/* Packets a second: so slow a flow harms nobody, and a slower one would not notice when the path becomes better. */
#define RATE_FLOOR 4.0
/* A path so short that bursts, which start a millisecond apart at least, shape nothing within a round trip: there the
 * buffers under way are the bound. What is missing from an offer is missing because a host was busy, unless it stands
 * in a queue. */
#define NEAR_US 2000
#define NEAR_QUEUE_US 1000

static double seconds(netblt_time us)
{
    return (double)us / SECOND_US;
}

static double clamp(double value, double least, double most)
{
    return value < least ? least : value > most ? most : value;
}

static netblt_time clamp_us(netblt_time value, netblt_time least, netblt_time most)
{
    return value < least ? least : value > most ? most : value;
}

/* The path's own round trip, without queue. */
static netblt_time own_round_trip(const struct nb_rate_control *rate)
{
    netblt_time least = nb_minimum_get(&rate->shortest);
    return least == NETBLT_TIME_NEVER ? 0 : least;
}

/* What the narrowest link carries of all flows together. A host that looks at its packets only now and then sees no
 * trains; then one flow beside this one is assumed. */
static double link_rate(const struct nb_rate_control *rate, double arrived)
{
    double train = nb_rate_trains_rate(&rate->trains);
    return train > arrived && train < TRAIN_CREDIBLE * arrived ? train : 2 * arrived;
}

/* So many flows that each has less than a third of the link: caution, as the queue is short for all of them. */
static bool many_share_the_link(const struct nb_rate_control *rate)
{
    return link_rate(rate, rate->base) > MANY_SHARES * rate->base;
}

static netblt_time queue_of_interest_us(const struct nb_rate_control *rate)
{
    return clamp_us(own_round_trip(rate) / QUEUE_SHARE, QUEUE_MIN_US, QUEUE_MAX_US);
}

bool nb_rate_round_trips_scatter(const struct nb_rate_control *rate)
{
    return SCATTER_TIMES * rate->scatter_us > (double)queue_of_interest_us(rate) && !many_share_the_link(rate);
}

static netblt_time queue_limit_us(const struct nb_rate_control *rate)
{
    netblt_time interval_us = rate->epochs.in_force.burst.interval_ms * UINT64_C(1000);
    netblt_time limit = queue_of_interest_us(rate);
    if (nb_rate_round_trips_scatter(rate))
        limit = (netblt_time)clamp(SCATTER_TIMES * rate->scatter_us, 0, QUEUE_MAX_US);
    return limit > interval_us ? limit : interval_us; /* an ack may have to wait for a burst */
}

netblt_time nb_rate_window_us(const struct nb_rate_control *rate)
{
    netblt_time bursts_us = BURSTS_MEASURED * UINT64_C(1000) * rate->offered.burst.interval_ms;
    netblt_time least = clamp_us(rate->round_trip_us / 2, 10000, 1000000);
    return least > bursts_us ? least : bursts_us;
}

/* What a pair can say, this end may offer, and the sender will adopt. */
static double most_possible(const struct nb_rate_control *rate)
{
    double cap = rate->capped.size == 0 ? NB_RATE_UNPACED : nb_pair_rate(rate->capped);
    return cap < rate->limit ? cap : rate->limit;
}

static void set_base(struct nb_rate_control *rate, double packets_per_s, const char *why)
{
    double most = most_possible(rate);
    double floor = RATE_FLOOR < most ? RATE_FLOOR : most;
    rate->base = clamp(packets_per_s, floor, most);
    rate->why = why;
}

/* By the newest round trips. */
static bool a_queue_stands(const struct nb_rate_control *rate)
{
    netblt_time recent = nb_minimum_get(&rate->recent);
    return recent != NETBLT_TIME_NEVER && recent > own_round_trip(rate) + queue_limit_us(rate);
}

bool nb_rate_path_is_near(const struct nb_rate_control *rate)
{
    netblt_time least = nb_minimum_get(&rate->shortest);
    return least < NEAR_US;
}

/* Less arrives than was offered, or than the sender itself had asked for. Whether that is the path's doing. */
static bool the_path_is_the_limit(const struct nb_rate_control *rate)
{
    bool asked = rate->state == NB_RATE_START && rate->epochs.in_force.rate <= nb_pair_rate(rate->negotiated);
    if (!nb_rate_path_is_near(rate) && !asked)
        return true;
    netblt_time recent = nb_minimum_get(&rate->recent);
    return recent != NETBLT_TIME_NEVER && recent > own_round_trip(rate) + NEAR_QUEUE_US;
}

/* ---- loss ---------------------------------------------------------------------------------------------------- */

/* Whether more was lost than this path loses by chance: then it was a queue that overflowed. At the start nothing is
 * known of chance, and a few lost packets must not keep the rate down: there what was lost says how much losses vary.
 */
static bool lost_too_much(const struct nb_rate_control *rate, const struct nb_rate_result *result)
{
    double sent = result->packets + result->lost;
    double excess = result->lost - sent * rate->loss - LOSS_MARGIN * sent - 2;
    double chance = rate->loss;
    if (rate->state == NB_RATE_START && result->lost > sent * chance)
        chance = result->lost / sent;
    return excess > 0 && excess * excess > LOSS_DEVIATIONS2 * sent * chance * (1 - chance);
}

static void learn_loss(struct nb_rate_control *rate, const struct nb_rate_result *result, double weight)
{
    double share = result->lost / (result->packets + result->lost);
    rate->loss += (share - rate->loss) * weight;
    if (rate->loss > CHANCE_MAX)
        rate->loss = CHANCE_MAX;
}

/* The rate at which packets would have arrived had the queue dropped none: what the path can carry. */
static double carried(const struct nb_rate_control *rate, const struct nb_rate_result *result)
{
    return result->arrival_rate / (1 - rate->loss);
}

double nb_rate_path_rate(const struct nb_rate_control *rate, const struct nb_rate_result *result)
{
    double most = carried(rate, result);
    return lost_too_much(rate, result) && most < result->sent_rate ? most : result->sent_rate;
}

/* A queue too short for our bursts drops their ends: shorter bursts help where a lower rate would not. */
static bool shorten_bursts(struct nb_rate_control *rate, const struct nb_rate_offer *offer,
                           const struct nb_rate_result *result)
{
    if (result->run_length < LOSS_RUN_OF_BURSTS || offer->burst.size <= BURST_LEAST ||
        offer->burst.size > rate->burst_most || offer->burst.interval_ms == 1)
        return false;
    rate->burst_most = offer->burst.size / 2 < BURST_LEAST ? BURST_LEAST : offer->burst.size / 2;
    rate->why = "losses at the ends of bursts: shorter ones";
    return true;
}

static void back_off_for_loss(struct nb_rate_control *rate, const struct nb_rate_offer *offer,
                              const struct nb_rate_result *result)
{
    if (shorten_bursts(rate, offer, result))
        return;
    double rest = BELOW_CAPACITY * carried(rate, result);
    rate->successes = 0;
    rate->boldness = 1;
    if (rest >= rate->base)
        return;
    if (rest * CHANCE_CUT_MIN < rate->base && rate->trial.base == 0)
        rate->trial = (struct nb_rate_trial){
            .base = rate->base,
            .loss = result->lost / (result->packets + result->lost),
            .arrived = result->arrival_rate,
        };
    set_base(rate, rest, "loss beyond chance");
}

/* Had the queue been the cause, a lower rate would have ended the loss, and as much would arrive as before. When less
 * arrives, by as much as the rate was lowered, the loss is the path's own. */
static bool loss_was_chance(struct nb_rate_control *rate, const struct nb_rate_result *result)
{
    struct nb_rate_trial *trial = &rate->trial;
    if (a_queue_stands(rate))
        return false; /* it still overflows: ask again later */
    trial->packets += result->packets;
    trial->lost += result->lost;
    trial->seconds += result->packets / result->arrival_rate;
    if (trial->packets + trial->lost < TRIAL_PACKETS)
        return false;
    double share = trial->lost / (trial->packets + trial->lost);
    double fell = 1 - trial->packets / trial->seconds / trial->arrived;
    bool chance = fell > 0.5 * (1 - rate->base / trial->base) && share > 0.7 * trial->loss;
    if (chance) {
        rate->loss = share < CHANCE_MAX ? share : CHANCE_MAX;
        set_base(rate, trial->base, "the loss does not depend on the rate");
    }
    trial->base = 0;
    return chance;
}

/* ---- start --------------------------------------------------------------------------------------------------- */

static void begin_cruise(struct nb_rate_control *rate, netblt_time now)
{
    rate->state = NB_RATE_CRUISE;
    rate->successes = 0;
    rate->base_measured = false;
    rate->next_pulse_at = now;
}

static bool path_is_short(const struct nb_rate_control *rate)
{
    return rate->round_trip_us != 0 && rate->round_trip_us < START_SHORT_PATH_US;
}

/* The limit was met: the queue grows, or what arrives is less than what was offered. */
static bool start_met_the_limit(struct nb_rate_control *rate, const struct nb_rate_result *result)
{
    bool queue = a_queue_stands(rate);
    double offered = rate->epochs.in_force.rate;
    if (lost_too_much(rate, result)) {
        set_base(rate, BELOW_CAPACITY * carried(rate, result), "start: loss beyond chance");
        return true;
    }
    bool less = result->sent_rate < START_FOLLOWED * offered;
    bool again = less && rate->doubts >= START_DOUBTS_MAX;
    if (queue || (again && !path_is_short(rate) && the_path_is_the_limit(rate))) {
        set_base(rate, BACK_OFF_SHARE * (result->sent_rate < offered ? result->sent_rate : offered),
                 queue ? "start: a queue grows" : "start: less arrives than was offered");
        return true;
    }
    rate->doubts = less && !again ? rate->doubts + 1 : 0;
    return false;
}

/* All windows of the offer in force as one: the best of their rates, the sum of their packets. */
static bool start_result(const struct nb_rate_control *rate, struct nb_rate_result *result)
{
    if (!nb_rate_window_result(&rate->window, result) || result->arrival_rate < rate->best) {
        result->arrival_rate = rate->best;
        result->sent_rate = rate->best;
    }
    result->packets += rate->best_packets;
    result->lost += rate->best_lost;
    double bursts_s = START_BURSTS_MIN * rate->epochs.in_force.burst.interval_ms / 1000.0;
    return result->packets >= START_PACKETS_MIN && result->arrival_rate > 0 &&
           (rate->best > 0 || result->seconds >= bursts_s);
}

static double start_growth(const struct nb_rate_control *rate)
{
    double from = rate->epochs.in_force.rate;
    if (rate->growth <= START_GROWTH_SHORT_PATH || !path_is_short(rate))
        return rate->growth;
    if (from >= START_GENTLY_FROM)
        return START_GROWTH_SHORT_PATH;
    if (!nb_rate_path_is_near(rate))
        return rate->growth;
    return clamp(START_GENTLY_FROM / from, rate->growth, START_GROWTH_NEAR);
}

/* One step for each offer that is in force and was measured. */
static void step_start(struct nb_rate_control *rate, netblt_time now)
{
    struct nb_rate_result result;
    if (rate->epochs.count != 0 || !start_result(rate, &result))
        return;
    rate->arrived = result.sent_rate;
    if (start_met_the_limit(rate, &result)) {
        begin_cruise(rate, now);
        return;
    }
    if (rate->doubts > 0) { /* a host that was busy otherwise? Once more */
        rate->best = rate->best_packets = rate->best_lost = 0;
        nb_rate_window_begin(&rate->window, now);
        return;
    }
    learn_loss(rate, &result, 0.5);
    if (rate->round_trip_us > START_ROUND_TRIP_MAX_US) {
        begin_cruise(rate, now);
        return;
    }
    bool short_path = path_is_short(rate);
    double next = rate->epochs.in_force.rate * start_growth(rate);
    double train = short_path ? 0 : START_TRAIN_SHARE * nb_rate_trains_rate(&rate->trains);
    if (train > 0 && train <= START_JUMP_MAX * rate->epochs.in_force.rate) {
        set_base(rate, train > rate->base ? train : rate->base, "start: what trains show");
        begin_cruise(rate, now);
    } else {
        set_base(rate, next, "start: faster");
    }
    if (rate->base >= most_possible(rate))
        begin_cruise(rate, now);
}

/* ---- pulses -------------------------------------------------------------------------------------------------- */

static uint32_t next_random(struct nb_rate_control *rate)
{
    rate->random ^= rate->random << 13;
    rate->random ^= rate->random >> 17;
    rate->random ^= rate->random << 5;
    return rate->random;
}

/* Pulses of flows that share a path must not keep step. */
static void plan_next_pulse(struct nb_rate_control *rate, netblt_time now)
{
    netblt_time cycle = clamp_us(rate->round_trip_us / 2, CYCLE_US_MIN, 500000);
    cycle <<= rate->costly;
    rate->next_pulse_at = now + cycle / 2 + next_random(rate) % cycle;
}

static netblt_time pulse_us(const struct nb_rate_control *rate)
{
    double packets_us = PULSE_PACKETS_MIN / rate->base * SECOND_US;
    double bursts_us = BURSTS_MEASURED * 1000.0 * rate->offered.burst.interval_ms;
    if (packets_us < bursts_us)
        packets_us = bursts_us;
    double buffer_us = rate->buffer_packets / rate->base * SECOND_US; /* faster pairs wait for a new buffer: AMB-43 */
    return (netblt_time)((packets_us > PULSE_US_MIN ? packets_us : PULSE_US_MIN) + buffer_us);
}

static double pulse_gain(const struct nb_rate_control *rate, netblt_time duration_us)
{
    netblt_time queue = clamp_us(own_round_trip(rate) / PULSE_QUEUE_SHARE, PULSE_QUEUE_MIN_US, PULSE_QUEUE_MAX_US);
    netblt_time room = GAIN_MIN_QUEUE_US > own_round_trip(rate) / GAIN_MIN_QUEUE_SHARE
                           ? GAIN_MIN_QUEUE_US
                           : own_round_trip(rate) / GAIN_MIN_QUEUE_SHARE;
    double least = clamp((double)room / (double)duration_us, GAIN_LEAST, GAIN_MIN);
    return clamp(rate->boldness * (double)queue / (double)duration_us, least, GAIN_MAX);
}

static double additive_share(const struct nb_rate_control *rate)
{
    return clamp(ADDITIVE_QUEUE_US / (double)(rate->round_trip_us + 1), ADDITIVE_MIN, ADDITIVE_MAX);
}

static void pulse_passed(struct nb_rate_control *rate, double gain)
{
    double link = nb_rate_trains_rate(&rate->trains);
    double proven = PROVEN_SHARE * gain * rate->base;
    double step = proven * (double)(1u << (rate->successes < 5 ? rate->successes : 5));
    double most = rate->base;
    if (link > rate->base && link < TRAIN_CREDIBLE * rate->base) { /* the same steps for all flows, up to the link */
        step = additive_share(rate) * link * (double)(1u << (rate->successes < 2 ? rate->successes : 2));
        most = BELOW_CAPACITY * link > rate->base + proven ? BELOW_CAPACITY * link - rate->base : proven;
    }
    if (rate->round_trip_us > START_ROUND_TRIP_MAX_US && step > gain * rate->base)
        step = gain * rate->base; /* an error would last too long: no further than the pulse went */
    rate->successes++;
    rate->boldness = clamp(rate->boldness * BOLDNESS_GROWTH, 1, BOLDNESS_MAX);
    if (rate->successes > TRAINS_BELIEVED_PULSES && link < rate->base * (1 + gain))
        rate->trains = (struct nb_rate_trains){0}; /* the link is faster than they say: the host timed them badly */
    if (rate->burst_most < NB_BURST_USUAL_MOST && ++rate->passed % PASSED_BEFORE_LONGER_BURSTS == 0)
        rate->burst_most++;
    set_base(rate, rate->base + (step < most ? step : most), "a pulse passed");
}

/* Less arrived than was offered: so much can the path carry. */
static void pulse_met_the_limit(struct nb_rate_control *rate, double arrived)
{
    double link = link_rate(rate, arrived);
    double train = nb_rate_trains_rate(&rate->trains);
    double whole = train > arrived && train < MANY_SHARES * arrived ? train : arrived;
    double next = (BELOW_CAPACITY - LEVELLING) * arrived + LEVELLING * whole;
    rate->successes = 0;
    rate->boldness = 1;
    set_base(rate, clamp(next, BACK_OFF_SHARE * rate->base, rate->base + additive_share(rate) * link),
             "a pulse met the limit");
}

/* What the base carries is known, and one bad moment of the path shall not undo it. */
static void pulse_lost_packets(struct nb_rate_control *rate, const struct nb_rate_offer *offer,
                               const struct nb_rate_result *result)
{
    if (!shorten_bursts(rate, offer, result))
        pulse_met_the_limit(rate, carried(rate, result));
}

static void judge_pulse(struct nb_rate_control *rate, const struct nb_rate_offer *offer,
                        const struct nb_rate_result *result, netblt_time now)
{
    bool costly = lost_too_much(rate, result);
    rate->costly = costly && !a_queue_stands(rate) ? rate->costly + (rate->costly < COSTLY_MAX) : rate->costly / 2;
    plan_next_pulse(rate, now);
    if (rate->settling || offer->rate <= rate->base)
        return;
    double gain = offer->rate / rate->base - 1;
    double arrived = result->sent_rate / rate->follows;
    if (costly && many_share_the_link(rate))
        back_off_for_loss(rate, offer, result);
    else if (costly)
        pulse_lost_packets(rate, offer, result);
    else if (arrived >= rate->base * (1 + PULSE_PASSED * gain) &&
             result->arrival_rate >= rate->base_arrives * (1 + PULSE_ARRIVED * gain))
        pulse_passed(rate, gain);
    else if (the_path_is_the_limit(rate))
        pulse_met_the_limit(rate, arrived);
}

/* ---- cruise -------------------------------------------------------------------------------------------------- */

static void judge_base(struct nb_rate_control *rate, const struct nb_rate_offer *offer,
                       const struct nb_rate_result *result)
{
    if (rate->trial.base > 0 && loss_was_chance(rate, result))
        return;
    bool again = rate->loss_seen; /* a queue that overflows goes on doing so; a bad moment of the path passes */
    rate->loss_seen = lost_too_much(rate, result);
    if (rate->loss_seen) {
        if (again || many_share_the_link(rate) || result->seconds > WAIT_ROUND_TRIPS * seconds(rate->round_trip_us))
            back_off_for_loss(rate, offer, result);
        return;
    }
    learn_loss(rate, result, 0.125);
    rate->base_arrives = result->arrival_rate;
}

/* Below the base no queue is in the way: what is missing from the offer is what the sender's own timers lose. */
static void judge_down(struct nb_rate_control *rate, const struct nb_rate_offer *offer,
                       const struct nb_rate_result *result)
{
    if (lost_too_much(rate, result))
        return; /* left over from the pulse, or the base will show it too */
    bool unmoved = result->arrival_rate > rate->base_arrives * (1 - PULSE_ARRIVED * rate->gain);
    rate->unmoved = unmoved && rate->loss > LOSS_MARGIN ? rate->unmoved + 1 : 0;
    if (rate->unmoved == 0)
        learn_loss(rate, result, 0.25);
    else if (rate->unmoved % UNMOVED_MAX == 0)
        rate->loss /= 2; /* less is offered, and as much arrives, time and again: it cannot be chance */
    double follows = clamp(result->sent_rate / offer->rate, 0.7, 1.0);
    rate->follows += (follows - rate->follows) / 4;
}

void nb_rate_judge(struct nb_rate_control *rate, const struct nb_rate_offer *offer, const struct nb_rate_result *result,
                   netblt_time now)
{
    if (rate->state == NB_RATE_START)
        return; /* judged when the next OK is due */
    if (result->packets + result->lost < JUDGED_PACKETS_MIN ||
        result->seconds < JUDGED_BURSTS_MIN * offer->burst.interval_ms / 1000.0)
        return; /* no rate can be told from so little */
    switch (offer->phase) {
    case NB_RATE_BASE:
        judge_base(rate, offer, result);
        break;
    case NB_RATE_UP:
        judge_pulse(rate, offer, result, now);
        break;
    case NB_RATE_DOWN:
        judge_down(rate, offer, result);
        break;
    case NB_RATE_DRAIN:
        break;
    }
}

/* ---- the queue ----------------------------------------------------------------------------------------------- */

/* Whether several back-offs shortened nothing: the path itself is longer now. */
static bool path_is_longer(struct nb_rate_control *rate, netblt_time queue_us, netblt_time least_us)
{
    if (rate->back_offs == 0)
        rate->queue_us = queue_us;
    if (rate->back_offs < BACK_OFFS_IN_VAIN || queue_us < rate->queue_us * 3 / 4)
        return false;
    nb_minimum_init(&rate->shortest);
    rate->shortest.before = least_us;
    rate->back_offs = 0;
    return true;
}

/* Of the base rate, what really arrives. On a near path a single window tells more of busy hosts than of the path. */
static double arriving_now(const struct nb_rate_control *rate)
{
    struct nb_rate_result result;
    double arrived = nb_rate_path_is_near(rate) ? nb_peak_get(&rate->peak) : rate->arrived;
    if (arrived == 0 && rate->window.packets >= START_PACKETS_MIN && nb_rate_window_result(&rate->window, &result))
        arrived = nb_rate_path_rate(rate, &result);
    return arrived > 0 && arrived < rate->base ? arrived : rate->base;
}

void nb_rate_judge_queue(struct nb_rate_control *rate, netblt_time least_us, netblt_time now)
{
    netblt_time own = own_round_trip(rate);
    if (rate->state == NB_RATE_START || rate->settling || rate->epochs.count != 0)
        return;
    if (least_us <= own + queue_limit_us(rate)) {
        rate->back_offs = 0;
        return;
    }
    netblt_time queue_us = least_us - own;
    if (path_is_longer(rate, queue_us, least_us))
        return;
    rate->back_offs++;
    rate->settling = true;
    rate->successes = 0;
    rate->boldness = 1;
    set_base(rate, BACK_OFF_SHARE * arriving_now(rate), "a queue stands");
    double slower =
        clamp(seconds(queue_us) / seconds(rate->round_trip_us > 4 * queue_us ? rate->round_trip_us : 4 * queue_us),
              DRAIN_MIN, DRAIN_MAX);
    rate->gain = slower;
    rate->offered.phase = NB_RATE_DRAIN;
    rate->offered_at = now;
    rate->phase_us = (netblt_time)((double)queue_us / slower);
    plan_next_pulse(rate, now);
}

void nb_rate_judge_silence(struct nb_rate_control *rate)
{
    rate->state = NB_RATE_START;
    rate->growth = 2;
    rate->settling = false;
    set_base(rate, rate->base / 2, "data comes again after an outage");
}

/* ---- the next offer ------------------------------------------------------------------------------------------ */

static bool pulse_is_due(const struct nb_rate_control *rate, netblt_time now)
{
    return rate->state == NB_RATE_CRUISE && !rate->settling && rate->base_measured && rate->epochs.count == 0 &&
           !a_queue_stands(rate) && now >= rate->next_pulse_at && rate->base < most_possible(rate);
}

enum nb_rate_phase nb_rate_next_phase(struct nb_rate_control *rate, double *packets_per_s, netblt_time now)
{
    bool over = now - rate->offered_at >= rate->phase_us;
    enum nb_rate_phase phase = rate->offered.phase;
    if (rate->state == NB_RATE_START)
        step_start(rate, now);
    if (phase == NB_RATE_UP && over)
        phase = NB_RATE_DOWN;
    else if (phase != NB_RATE_BASE && phase != NB_RATE_UP && over)
        phase = NB_RATE_BASE;
    else if (phase == NB_RATE_BASE && pulse_is_due(rate, now)) {
        phase = NB_RATE_UP;
        rate->phase_us = pulse_us(rate);
        rate->gain = pulse_gain(rate, rate->phase_us);
        rate->base_measured = false;
    }
    *packets_per_s = rate->base;
    if (phase == NB_RATE_UP)
        *packets_per_s *= 1 + rate->gain;
    else if (phase != NB_RATE_BASE)
        *packets_per_s *= 1 - rate->gain;
    return phase;
}
