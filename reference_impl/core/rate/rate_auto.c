/* SPDX-License-Identifier: BSD-2-Clause */
/* Automatic rate control: the offers of the receiver, from its measurements. */
#include "rate/rate_auto.h"

#include "base/serial.h"
#include "rate/auto_state.h"
#include "rate/rate_decide.h"
#include "rate/rate_loss.h"
#include "rate/rate_pair.h"
#include "rate/rate_path.h"
#include "rate/rate_queue.h"

static void begin(void *state, const struct nb_rate_setup *setup)
{
    struct nb_rate_auto *rate = state;
    double start = nb_pair_rate(setup->negotiated);
    *rate = (struct nb_rate_auto){
        .negotiated = setup->negotiated,
        .negotiated_is_known = setup->negotiated_is_known,
        .limit = setup->limit_rate,
        .buffer_packets = setup->buffer_packets,
        .random = setup->seed | 1,
        .offered = {.phase = NB_RATE_BASE, .burst = setup->negotiated, .rate = start},
        .base = start,
        .sender_share = 1,
        .growth = NB_RATE_START_GROWTH,
        .burst_most = NB_BURST_USUAL_MOST,
        .window_is_whole = true,
    };
    rate->epochs.in_force = rate->offered;
    nb_minimum_init(&rate->shortest);
    nb_minimum_init(&rate->recent);
}

/* ---- offers ------------------------------------------------------------------------------------------------ */

/* A sender that wakes up late forgives itself a quarter of the interval, but no more than 1 ms: longer intervals lose
 * less, as far as the queue can hold their bursts and the round trip is long against them. */
static uint16_t least_interval_ms(const struct nb_rate_auto *rate)
{
    if (rate->burst_most < NB_BURST_USUAL_MOST)
        return 1;
    netblt_time share = nb_rate_own_round_trip(rate) / NB_RATE_BURSTS_MIN;
    return (uint16_t)nb_clamp((double)share / NB_US_PER_MS, 1, NB_RATE_FORGIVING_INTERVAL_MS);
}

static struct nb_burst pair_for(const struct nb_rate_auto *rate, double packets_per_s)
{
    if (packets_per_s > rate->limit)
        packets_per_s = rate->limit;
    if (rate->capped.size != 0)
        return nb_pair_within(packets_per_s, rate->capped);
    if (!rate->sender_adopts) { /* perhaps the sender means the negotiated pair: do not slow it by one field of a faster
                                 * pair
                                 */
        if (packets_per_s >= nb_pair_rate(rate->negotiated))
            return nb_pair_at_least(packets_per_s, rate->negotiated);
        struct nb_burst within = nb_pair_within(packets_per_s, rate->negotiated);
        if (nb_pair_rate(within) >= NB_RATE_ROUGH * packets_per_s)
            return within;
    }
    return nb_pair_for_rate(packets_per_s, rate->burst_most, least_interval_ms(rate), rate->state == NB_RATE_START);
}

/* Short bursts allow few rates: a probe must be one that differs from the base. */
static struct nb_burst pair_above_base(const struct nb_rate_auto *rate, double packets_per_s)
{
    double enough = rate->base + NB_RATE_NEARLY_ALL * (packets_per_s - rate->base);
    double most = packets_per_s * (1 + NB_RATE_GAIN_MAX);
    struct nb_burst burst = pair_for(rate, packets_per_s);
    while (nb_pair_rate(burst) < enough && packets_per_s < most)
        burst = pair_for(rate, packets_per_s *= 1 + NB_RATE_GAIN_LEAST);
    return burst;
}

static struct nb_burst offer(void *state, uint16_t seq, netblt_time now)
{
    struct nb_rate_auto *rate = state;
    struct nb_rate_epochs *epochs = &rate->epochs;
    double wanted;
    enum nb_rate_phase before = rate->offered.phase;
    enum nb_rate_phase phase = nb_rate_next_phase(rate, &wanted, now);
    struct nb_burst burst = phase == NB_RATE_UP ? pair_above_base(rate, wanted) : pair_for(rate, wanted);
    if (phase != before)
        rate->offered_at = now;
    if ((phase == before && nb_pair_same(burst, rate->offered.burst)) || epochs->count == NB_RATE_OFFERS_MAX)
        return rate->offered.burst;
    rate->offered = (struct nb_rate_offer){seq, phase, burst, nb_pair_rate(burst)};
    epochs->sent[epochs->count++] = rate->offered;
    return burst;
}

static double at_most(double value, double most)
{
    return value < most ? value : most;
}

/* All of the first buffer came through or was lost by chance, at the negotiated pace: the path carries that. */
static bool negotiated_pair_fits(const struct nb_rate_auto *rate)
{
    struct nb_rate_result result;
    return rate->window.sent >= rate->buffer_packets && nb_rate_window_result(&rate->window, &result) &&
           result.lost <= NB_RATE_CHANCE_MAX * rate->window.sent &&
           (result.sent_rate >= NB_RATE_NEARLY_ALL * rate->epochs.in_force.rate ||
            nb_rate_sender_was_late(rate, &result));
}

/* The negotiated pair may be far too fast: one buffer is at stake before the first OK. Of a pair that is known so much
 * that packets arrive until the next GOs take effect. */
static unsigned first_credit(const struct nb_rate_auto *rate, unsigned most)
{
    if (!rate->negotiated_is_known)
        return 1;
    double packets = at_most(nb_pair_rate(rate->negotiated) * nb_seconds(rate->round_trip_us), NB_RATE_FIRST_PACKETS);
    double wanted = at_most(packets / rate->buffer_packets + 1, NB_RATE_FIRST_BUFFERS);
    return (unsigned)at_most(wanted, most);
}

static unsigned credit(const void *state, unsigned most)
{
    const struct nb_rate_auto *rate = state;
    if (rate->state == NB_RATE_START && rate->offered.rate == nb_pair_rate(rate->negotiated) &&
        !negotiated_pair_fits(rate))
        return first_credit(rate, most);
    double fastest = rate->offered.rate > rate->epochs.in_force.rate ? rate->offered.rate : rate->epochs.in_force.rate;
    if (rate->base > fastest)
        fastest = rate->base;
    netblt_time recovery_us = NB_RATE_RECOVERY_US;
    if (rate->round_trip_us != 0)
        recovery_us = NB_RATE_RECOVERY_ROUND_TRIPS * rate->round_trip_us;
    double packets = fastest * nb_seconds(recovery_us + NB_RATE_REACTION_US);
    return (unsigned)at_most(packets / rate->buffer_packets + NB_RATE_SPARE_BUFFERS, most);
}

/* On a near path a host that is held up for some milliseconds would find more than its socket holds, were as much under
 * way as the rate needs elsewhere; packets that wait for their retransmission are not. */
static bool window_allows(const void *state, uint64_t begun, uint64_t next)
{
    const struct nb_rate_auto *rate = state;
    if (!nb_rate_path_is_near(rate))
        return true;
    double most = (1 + NB_RATE_GAIN_MAX) * nb_peak_get(&rate->peak);
    double fastest = rate->base > rate->offered.rate ? rate->base : rate->offered.rate;
    if (most == 0 || fastest < most)
        most = fastest;
    /* Hosts read their packets every 100 us and are busy otherwise at times: more than the round trip itself. */
    double packets = most * nb_seconds(nb_minimum_get(&rate->shortest) + NB_RATE_NEAR_US);
    return next < begun + NB_RATE_SPARE_BUFFERS + (uint64_t)(packets / rate->buffer_packets);
}

static struct nb_rate_report report(const void *state)
{
    const struct nb_rate_auto *rate = state;
    return (struct nb_rate_report){.packets_per_s = rate->arrived, .why = rate->why};
}

/* ---- epochs ------------------------------------------------------------------------------------------------ */

static void begin_window(struct nb_rate_auto *rate, netblt_time now)
{
    nb_rate_window_begin(&rate->window, now);
    rate->window_is_whole = true;
}

static void end_window(struct nb_rate_auto *rate, netblt_time now)
{
    if (rate->epochs.in_force.rate > nb_pair_rate(rate->negotiated) && rate->capped.size == 0)
        rate->sender_adopts = true; /* a sender that means the negotiated pair would have said so by now */
    struct nb_rate_result result;
    if (nb_rate_window_result(&rate->window, &result)) {
        rate->arrived = nb_rate_path_rate(rate, &result);
        if (result.packets >= NB_RATE_PACKETS_MIN && result.seconds >= nb_seconds(NB_RATE_NEAR_US))
            nb_peak_add(&rate->peak, rate->arrived, NB_RATE_RECOVERY_US, now);
        nb_rate_judge(rate, &rate->epochs.in_force, &result, now);
    }
    begin_window(rate, now);
}

/* How many of the offers that wait for their ack the sender has. */
static unsigned reached_offers(const struct nb_rate_epochs *epochs)
{
    unsigned reached = 0;
    while (reached < epochs->count && !nb_seq_after(epochs->sent[reached].seq, epochs->acked))
        reached++;
    return reached;
}

/* A slower offer holds from the sender's next burst on, before a packet of it arrives. */
static struct nb_burst in_force(const void *state)
{
    const struct nb_rate_epochs *epochs = &((const struct nb_rate_auto *)state)->epochs;
    unsigned reached = reached_offers(epochs);
    bool slower = reached > 0 && epochs->sent[reached - 1].rate < epochs->in_force.rate;
    return slower ? epochs->sent[reached - 1].burst : epochs->in_force.burst;
}

/* The newest offer that the packet in hand was sent under, if it is another one than before (AMB-43). */
static bool next_epoch(struct nb_rate_epochs *epochs, bool new_buffer, struct nb_rate_offer *next)
{
    unsigned reached = reached_offers(epochs);
    if (reached == 0 || (epochs->sent[reached - 1].rate > epochs->in_force.rate && !new_buffer))
        return false;
    *next = epochs->sent[reached - 1];
    for (unsigned i = reached; i < epochs->count; i++)
        epochs->sent[i - reached] = epochs->sent[i];
    epochs->count -= reached;
    return true;
}

static void follow_epochs(struct nb_rate_auto *rate, bool new_buffer, netblt_time now)
{
    struct nb_rate_offer next;
    if (!next_epoch(&rate->epochs, new_buffer, &next))
        return;
    end_window(rate, now);
    rate->best = rate->best_packets = rate->best_lost = 0;
    rate->arrived = 0;
    bool drained = rate->epochs.in_force.phase == NB_RATE_DRAIN;
    rate->epochs.in_force = next;
    bool old = !nb_seq_after(next.seq, rate->settles_after);
    if (rate->settling && !old && (drained || next.phase == NB_RATE_BASE)) {
        rate->settling = false;
        nb_minimum_init(&rate->recent);
    }
    if (next.phase == NB_RATE_BASE)
        rate->base_measured = false;
}

/* The sender has a faster offer, and nothing shows whether it waits for a new buffer to follow it or not: what arrives
 * meanwhile is of no epoch. */
static bool between_epochs(const struct nb_rate_epochs *epochs)
{
    return reached_offers(epochs) > 0;
}

/* A sender that has only retransmissions left may follow a faster offer at once. What comes shows it: more than half of
 * the step.
 */
static bool adopted_ahead(struct nb_rate_auto *rate, enum nb_rate_arrival kind, bool paused, netblt_time now)
{
    struct nb_rate_result result;
    if (kind != NB_RATE_REPEAT || paused || rate->ahead.count == 0)
        nb_rate_window_begin(&rate->ahead, now);
    if (kind != NB_RATE_REPEAT)
        return false;
    nb_rate_window_add(&rate->ahead, 0, now);
    if (rate->ahead.packets < NB_RATE_PACKETS_MIN || !nb_rate_window_result(&rate->ahead, &result) ||
        result.seconds * NB_MS_PER_S < NB_RATE_BURSTS_MIN * rate->epochs.in_force.burst.interval_ms)
        return false;
    nb_rate_window_begin(&rate->ahead, now);
    const struct nb_rate_offer *newest = &rate->epochs.sent[reached_offers(&rate->epochs) - 1];
    return result.arrival_rate > (rate->epochs.in_force.rate + newest->rate) / 2;
}

static void acked(void *state, uint16_t ack)
{
    struct nb_rate_auto *rate = state;
    rate->epochs.acked = ack;
}

/* What makes a sender answer an offer with the pair `answer` (NEG-09). It restricts field by field: a field that it
 * left as offered is not its limit, and the negotiated one it has agreed to. */
static struct nb_burst cap_behind(const struct nb_rate_auto *rate, struct nb_burst offered, struct nb_burst answer)
{
    struct nb_burst known = rate->capped.size != 0 ? rate->capped : rate->negotiated;
    struct nb_burst cap = answer;
    if (answer.size == offered.size && known.size > answer.size)
        cap.size = known.size;
    if (answer.interval_ms == offered.interval_ms && known.interval_ms < answer.interval_ms)
        cap.interval_ms = known.interval_ms;
    return cap;
}

/* What is offered beyond the cap was never in force. */
static void respect_cap(struct nb_rate_auto *rate, struct nb_burst cap)
{
    double most = nb_pair_rate(cap);
    rate->capped = cap;
    rate->doubted = false;
    if (rate->base > most)
        rate->base = most;
    if (rate->epochs.in_force.rate > most)
        rate->epochs.in_force.rate = most;
    for (unsigned i = 0; i < rate->epochs.count; i++)
        if (rate->epochs.sent[i].rate > most)
            rate->epochs.sent[i].rate = most;
}

static void null_ack(void *state, uint16_t ack, struct nb_burst burst)
{
    struct nb_rate_auto *rate = state;
    if (burst.size == 0)
        return;
    rate->window_is_whole = false; /* restarts with the next arrival */
    struct nb_burst newest = rate->offered.burst;
    if (nb_seq_after(rate->offered.seq, ack) || nb_pair_same(newest, burst))
        return;
    if (burst.size <= newest.size && burst.interval_ms >= newest.interval_ms)
        respect_cap(rate, cap_behind(rate, newest, burst)); /* NEG-09 */
}

/* ---- arrivals ---------------------------------------------------------------------------------------------- */

static bool was_silent(const struct nb_rate_auto *rate, netblt_time now)
{
    netblt_time long_time = NB_RATE_RECOVERY_ROUND_TRIPS * rate->round_trip_us;
    if (long_time < NB_RATE_RECOVERY_US)
        long_time = NB_RATE_RECOVERY_US;
    return rate->timed_out && rate->last_at != 0 && now - rate->last_at > long_time;
}

static bool has_paused(const struct nb_rate_auto *rate, netblt_time now)
{
    netblt_time pace = NB_RATE_BURSTS_MIN * NB_US_PER_MS * rate->epochs.in_force.burst.interval_ms;
    return rate->last_at != 0 && now - rate->last_at > pace + NB_RATE_BRIEF_US;
}

/* On a near path: nothing came for longer after the next burst than the least queue takes, so a host was busy. */
static bool is_stall(const struct nb_rate_auto *rate, netblt_time gap_us)
{
    return gap_us > NB_RATE_NEAR_US / 2 + NB_US_PER_MS * rate->epochs.in_force.burst.interval_ms;
}

/* What of the time since `from` nothing came in. */
static netblt_time stalled_since(const struct nb_rate_auto *rate, netblt_time from, netblt_time now)
{
    netblt_time sum = 0;
    for (unsigned i = 0; i < NB_RATE_STALLS; i++) {
        const struct nb_rate_stall *stall = &rate->stalls[i];
        if (stall->to > from)
            sum += stall->to - (stall->from > from ? stall->from : from);
    }
    netblt_time last = rate->last_at > from ? rate->last_at : from;
    return rate->last_at != 0 && is_stall(rate, now - last) ? sum + (now - last) : sum;
}

static void note_time(struct nb_rate_auto *rate, netblt_time now)
{
    if (rate->last_at != 0 && is_stall(rate, now - rate->last_at))
        rate->stalls[rate->stall_count++ % NB_RATE_STALLS] = (struct nb_rate_stall){rate->last_at, now};
    if (was_silent(rate, now)) {
        begin_window(rate, now);
        nb_rate_judge_silence(rate);
    }
    rate->last_at = now;
    rate->timed_out = false;
}

/* The sender was idle, or its packets were all lost: what came before is judged by itself. */
static void begin_window_anew(struct nb_rate_auto *rate, netblt_time now)
{
    struct nb_rate_result result;
    bool any = nb_rate_window_result(&rate->window, &result);
    if (rate->state == NB_RATE_START && any && result.arrival_rate > rate->best)
        rate->best = result.arrival_rate;
    rate->best_packets += result.packets;
    rate->best_lost += result.lost;
    begin_window(rate, now);
}

static void arrival(void *state, const struct nb_rate_packet *packet, netblt_time now)
{
    struct nb_rate_auto *rate = state;
    bool paused = has_paused(rate, now);
    note_time(rate, now);
    if (packet->kind == NB_RATE_LATE) {
        nb_rate_window_late(&rate->window);
        return;
    }
    rate->requested += packet->kind == NB_RATE_REQUESTED;
    follow_epochs(rate, packet->new_buffer, now);
    netblt_time interval_us = rate->epochs.in_force.burst.interval_ms * NB_US_PER_MS;
    nb_rate_trains_add(&rate->trains, packet->kind != NB_RATE_REPEAT && packet->gap == 0, interval_us / 2, now);
    if (!rate->window_is_whole || paused)
        begin_window_anew(rate, now);
    if (between_epochs(&rate->epochs)) {
        if (adopted_ahead(rate, packet->kind, paused, now))
            follow_epochs(rate, true, now);
        return;
    }
    rate->ahead.count = 0;
    nb_rate_window_add(&rate->window, packet->gap, now);
    if (rate->state == NB_RATE_CRUISE && rate->epochs.in_force.phase == NB_RATE_BASE &&
        rate->window.packets >= NB_RATE_WINDOW_PACKETS && now - rate->window.from >= nb_rate_window_us(rate)) {
        rate->base_measured = true;
        end_window(rate, now);
    }
}

static void timeout(void *state)
{
    struct nb_rate_auto *rate = state;
    rate->timed_out = true;
}

static void round_trip_guess(void *state, netblt_time us)
{
    struct nb_rate_auto *rate = state;
    rate->round_trip_us = us;
    rate->round_trip_guessed = true;
}

static void note_scatter(struct nb_rate_auto *rate, double step_us)
{
    double turned = 0;
    if (step_us * rate->newest_step_us < 0) {
        double before = rate->newest_step_us < 0 ? -rate->newest_step_us : rate->newest_step_us;
        turned = at_most(step_us < 0 ? -step_us : step_us, before);
    }
    rate->scatter_us += (turned - rate->scatter_us) / NB_RATE_SMOOTHING;
    rate->newest_step_us = step_us;
}

static void round_trip(void *state, netblt_time us, netblt_time now)
{
    struct nb_rate_auto *rate = state;
    if (nb_rate_path_is_near(rate)) { /* a queue would bring packets all the time */
        netblt_time stalled = stalled_since(rate, now - us, now);
        us = stalled < us ? us - stalled : 1;
    }
    bool first = rate->round_trip_us == 0 || rate->round_trip_guessed;
    if (!first)
        note_scatter(rate, (double)us - (double)rate->newest_round_trip_us);
    rate->newest_round_trip_us = us;
    rate->round_trip_guessed = false;
    rate->round_trip_us = first ? us : ((NB_RATE_SMOOTHING - 1) * rate->round_trip_us + us) / NB_RATE_SMOOTHING;
    netblt_time period =
        UINT64_C(2) * NB_RATE_SMOOTHING * rate->round_trip_us; /* long enough to see a lasting change */
    nb_minimum_add(&rate->shortest, us, period < NB_RATE_SHORTEST_US ? NB_RATE_SHORTEST_US : period, 1, now);
    netblt_time recent = rate->round_trip_us / 2;
    if (recent < NB_RATE_BRIEF_US && nb_rate_path_is_near(rate))
        recent = NB_RATE_BRIEF_US;
    unsigned samples = NB_RATE_CONVINCING * (nb_rate_round_trips_scatter(rate) ? NB_RATE_CONVINCING : 1);
    if (nb_minimum_add(&rate->recent, us, recent, samples, now))
        nb_rate_judge_queue(rate, rate->recent.before, now);
}

/* ---- the sender -------------------------------------------------------------------------------------------- */

/* The sender follows any offer up to its limit. */
static struct nb_burst adopt(struct nb_burst offered, struct nb_burst current, const struct nb_rate_limits *limits,
                             bool *restricted)
{
    struct nb_burst settled = {
        .size = offered.size == 0 ? current.size : offered.size,
        .interval_ms = offered.interval_ms,
    };
    if (nb_pair_rate(settled) > limits->packets_per_s) {
        double size = limits->packets_per_s * (settled.interval_ms == 0 ? 1 : settled.interval_ms) / NB_MS_PER_S;
        if (settled.interval_ms == 0)
            settled.interval_ms = 1;
        if (size >= 1)
            settled.size = (uint16_t)size;
        else
            settled = (struct nb_burst){1, nb_pair_for_rate(limits->packets_per_s, 1, 1, false).interval_ms};
    }
    *restricted = settled.size != offered.size || settled.interval_ms != offered.interval_ms;
    return settled;
}

const struct nb_rate_controller nb_rate_auto = {
    .name = "auto",
    .begin = begin,
    .offer = offer,
    .in_force = in_force,
    .credit = credit,
    .window_allows = window_allows,
    .report = report,
    .arrival = arrival,
    .acked = acked,
    .null_ack = null_ack,
    .round_trip = round_trip,
    .round_trip_guess = round_trip_guess,
    .timeout = timeout,
    .adopt = adopt,
};
