/* SPDX-License-Identifier: BSD-2-Clause */
/* Automatic rate control: which loss is due to the path, and the back-off for the rest. */
#include "rate/rate_loss.h"

#include "rate/rate_pair.h"
#include "rate/rate_path.h"

/* At the start nothing is known of chance, and a few lost packets must not keep the rate down: there what was lost
 * shows how much losses vary. */
bool nb_rate_lost_too_much(const struct nb_rate_auto *rate, const struct nb_rate_result *result)
{
    double sent = result->packets + result->lost;
    double excess = result->lost - sent * rate->loss - NB_RATE_LOSS_MARGIN * sent - NB_RATE_CONVINCING;
    double chance = rate->loss;
    if (rate->state == NB_RATE_START && result->lost > sent * chance)
        chance = result->lost / sent;
    return excess > 0 && excess * excess > NB_RATE_CONVINCING * NB_RATE_CONVINCING * sent * chance * (1 - chance);
}

void nb_rate_learn_loss(struct nb_rate_auto *rate, const struct nb_rate_result *result, double weight)
{
    double share = result->lost / (result->packets + result->lost);
    rate->loss += (share - rate->loss) * weight;
    if (rate->loss > NB_RATE_CHANCE_MAX)
        rate->loss = NB_RATE_CHANCE_MAX;
}

double nb_rate_carried(const struct nb_rate_auto *rate, const struct nb_rate_result *result)
{
    return result->arrival_rate / (1 - rate->loss);
}

double nb_rate_path_rate(const struct nb_rate_auto *rate, const struct nb_rate_result *result)
{
    double most = nb_rate_carried(rate, result);
    return nb_rate_lost_too_much(rate, result) && most < result->sent_rate ? most : result->sent_rate;
}

bool nb_rate_shorten_bursts(struct nb_rate_auto *rate, const struct nb_rate_offer *offer,
                            const struct nb_rate_result *result)
{
    bool ends = result->run_length >= NB_RATE_LOSS_RUN_OF_BURSTS && result->run_length <= offer->burst.size &&
                offer->burst.interval_ms > 1; /* longer runs are outages */
    if (ends && rate->burst_most < NB_BURST_USUAL_MOST && offer->burst.size > rate->burst_most)
        return true; /* of bursts from before they were shortened */
    if (!ends || offer->burst.size <= NB_RATE_BURST_LEAST || offer->burst.size > rate->burst_most)
        return false;
    rate->burst_most = offer->burst.size / 2 < NB_RATE_BURST_LEAST ? NB_RATE_BURST_LEAST : offer->burst.size / 2;
    rate->why = "losses at the ends of bursts: shorter ones";
    return true;
}

void nb_rate_back_off_for_loss(struct nb_rate_auto *rate, const struct nb_rate_offer *offer,
                               const struct nb_rate_result *result)
{
    if (nb_rate_shorten_bursts(rate, offer, result))
        return;
    double rest = nb_rate_below_capacity(rate) * nb_rate_carried(rate, result);
    rate->successes = 0;
    if (rest >= rate->base)
        return;
    if (rate->trial.base == 0)
        rate->trial = (struct nb_rate_trial){
            .base = rate->base,
            .loss = result->lost / (result->packets + result->lost),
            .arrived = result->arrival_rate,
        };
    nb_rate_set_base(rate, rest, "loss beyond chance");
}

/* Had the queue been the cause, a lower rate would have ended the loss, and as much would arrive as before. When less
 * arrives, by as much as the rate was lowered, the loss is the path's own. */
bool nb_rate_loss_was_chance(struct nb_rate_auto *rate, const struct nb_rate_result *result)
{
    struct nb_rate_trial *trial = &rate->trial;
    if (nb_rate_a_queue_stands(rate))
        return false; /* it still overflows: ask again later */
    trial->packets += result->packets;
    trial->lost += result->lost;
    trial->seconds += result->packets / result->arrival_rate;
    if (trial->packets + trial->lost < NB_RATE_SMOOTHING * NB_RATE_WINDOW_PACKETS)
        return false;
    double share = trial->lost / (trial->packets + trial->lost);
    double fell = 1 - trial->packets / trial->seconds / trial->arrived;
    bool chance = fell > 0.5 * (1 - rate->base / trial->base) && share > 0.5 * trial->loss;
    if (chance) {
        rate->loss = share < NB_RATE_CHANCE_MAX ? share : NB_RATE_CHANCE_MAX;
        nb_rate_set_base(rate, trial->base, "the loss does not depend on the rate");
    }
    trial->base = 0;
    return chance;
}
