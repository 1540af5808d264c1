/* SPDX-License-Identifier: BSD-2-Clause */
/* Automatic rate control: the decision from the measurements. */
#include "rate/rate_decide.h"

#include "rate/rate_loss.h"
#include "rate/rate_path.h"
#include "rate/rate_probe.h"
#include "rate/rate_start.h"

/* ---- what an epoch showed ------------------------------------------------------------------------------------ */

/* No queue is in the way: what is missing from the offer is what the sender's own timers lose. */
static void learn_sender_share(struct nb_rate_auto *rate, const struct nb_rate_offer *offer,
                               const struct nb_rate_result *result, double weight)
{
    double share = nb_clamp(result->sent_rate / offer->rate, 1 - NB_RATE_CHANCE_MAX, 1.0);
    rate->sender_share += (share - rate->sender_share) * weight;
}

static void judge_base(struct nb_rate_auto *rate, const struct nb_rate_offer *offer,
                       const struct nb_rate_result *result)
{
    if (rate->trial.base > 0 && nb_rate_loss_was_chance(rate, result))
        return;
    bool again = rate->loss_seen; /* a queue that overflows goes on doing so; a bad moment of the path passes */
    rate->loss_seen = nb_rate_lost_too_much(rate, result);
    if (rate->loss_seen) {
        if (again || nb_rate_many_share_the_link(rate))
            nb_rate_back_off_for_loss(rate, offer, result);
        return;
    }
    nb_rate_learn_loss(rate, result, 1.0 / NB_RATE_SMOOTHING);
    rate->base_arrives = result->arrival_rate;
    if (!nb_rate_path_is_near(rate) && !nb_rate_any_queue(rate))
        learn_sender_share(rate, offer, result, 1.0 / NB_RATE_SMOOTHING);
}

static void judge_down(struct nb_rate_auto *rate, const struct nb_rate_offer *offer,
                       const struct nb_rate_result *result)
{
    if (nb_rate_lost_too_much(rate, result))
        return; /* left over from the probe, or the base will show it too */
    bool unmoved = result->arrival_rate > rate->base_arrives * (1 - NB_RATE_PROBE_ARRIVED * rate->gain);
    rate->unmoved = unmoved && rate->loss > NB_RATE_LOSS_MARGIN ? rate->unmoved + 1 : 0;
    if (rate->unmoved == 0)
        nb_rate_learn_loss(rate, result, 2.0 / NB_RATE_SMOOTHING);
    else if (rate->unmoved % NB_RATE_CONVINCING == 0)
        rate->loss /= 2; /* less is offered, and as much arrives, time and again: it cannot be chance */
    if (nb_rate_path_is_near(rate))
        learn_sender_share(rate, offer, result, 2.0 / NB_RATE_SMOOTHING);
}

void nb_rate_judge(struct nb_rate_auto *rate, const struct nb_rate_offer *offer, const struct nb_rate_result *result,
                   netblt_time now)
{
    if (rate->state == NB_RATE_START)
        return; /* judged when the next OK is due */
    if (result->packets + result->lost < NB_RATE_PACKETS_MIN ||
        result->seconds < NB_RATE_BURSTS_MIN * offer->burst.interval_ms / NB_MS_PER_S)
        return; /* no rate can be measured from so little */
    switch (offer->phase) {
    case NB_RATE_BASE:
        judge_base(rate, offer, result);
        break;
    case NB_RATE_UP:
        nb_rate_judge_probe(rate, offer, result, now);
        break;
    case NB_RATE_DOWN:
        judge_down(rate, offer, result);
        break;
    case NB_RATE_DRAIN:
        break;
    }
}

void nb_rate_judge_silence(struct nb_rate_auto *rate)
{
    rate->state = NB_RATE_START;
    rate->growth = NB_RATE_START_GROWTH_GENTLE;
    rate->settling = false;
    nb_rate_set_base(rate, rate->base / 2, "data comes again after an outage");
}

/* ---- the next offer ------------------------------------------------------------------------------------------ */

enum nb_rate_phase nb_rate_next_phase(struct nb_rate_auto *rate, double *packets_per_s, netblt_time now)
{
    bool over = now - rate->offered_at >= rate->phase_us;
    enum nb_rate_phase phase = rate->offered.phase;
    if (rate->state == NB_RATE_START)
        nb_rate_step_start(rate, now);
    if (phase == NB_RATE_UP && over)
        phase = NB_RATE_DOWN;
    else if (phase != NB_RATE_BASE && phase != NB_RATE_UP && over)
        phase = NB_RATE_BASE;
    else if (phase == NB_RATE_BASE && nb_rate_probe_is_due(rate, now)) {
        phase = NB_RATE_UP;
        nb_rate_begin_probe(rate);
    }
    *packets_per_s = rate->base;
    if (phase == NB_RATE_UP)
        *packets_per_s *= 1 + rate->gain;
    else if (phase != NB_RATE_BASE)
        *packets_per_s *= 1 - rate->gain;
    return phase;
}
