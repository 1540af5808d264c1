/* SPDX-License-Identifier: BSD-2-Clause */
/* Automatic rate control: what is known of the path, and the base rate. */
#include "rate/rate_path.h"

#include "rate/rate_pair.h"

netblt_time nb_rate_own_round_trip(const struct nb_rate_auto *rate)
{
    netblt_time least = nb_minimum_get(&rate->shortest);
    return least == NETBLT_TIME_NEVER ? 0 : least;
}

double nb_rate_credible_train(const struct nb_rate_auto *rate, double arrived)
{
    double train = nb_rate_trains_rate(&rate->trains);
    return train > arrived ? train : 0;
}

/* A host that looks at its packets only now and then sees no trains; then one flow beside this one is assumed. */
double nb_rate_of_link(const struct nb_rate_auto *rate, double arrived)
{
    double train = nb_rate_credible_train(rate, arrived);
    return train > 0 ? train : 2 * arrived;
}

bool nb_rate_many_share_the_link(const struct nb_rate_auto *rate)
{
    return nb_rate_of_link(rate, rate->base) > NB_RATE_MANY_SHARES * rate->base;
}

static netblt_time queue_of_interest_us(const struct nb_rate_auto *rate)
{
    return nb_clamp_us(nb_rate_own_round_trip(rate) / NB_RATE_QUEUE_PART, NB_RATE_QUEUE_MIN_US, NB_RATE_QUEUE_MAX_US);
}

bool nb_rate_round_trips_scatter(const struct nb_rate_auto *rate)
{
    return NB_RATE_SCATTER_TIMES * rate->scatter_us > (double)queue_of_interest_us(rate) &&
           !nb_rate_many_share_the_link(rate);
}

netblt_time nb_rate_queue_limit_us(const struct nb_rate_auto *rate)
{
    netblt_time interval_us = rate->epochs.in_force.burst.interval_ms * NB_US_PER_MS;
    netblt_time limit = queue_of_interest_us(rate);
    if (nb_rate_round_trips_scatter(rate))
        limit = (netblt_time)nb_clamp(NB_RATE_SCATTER_TIMES * rate->scatter_us, 0, NB_RATE_QUEUE_MAX_US);
    return limit > interval_us ? limit : interval_us; /* an ack may have to wait for a burst */
}

netblt_time nb_rate_bursts_measured_us(const struct nb_rate_auto *rate)
{
    return NB_RATE_BURSTS_EXACT * NB_US_PER_MS * rate->offered.burst.interval_ms;
}

/* Several probes in a row met the same limit, and trains show no faster link: with other flows beside it, the limit
 * changes from probe to probe. A late sender makes all of this inexact. */
static bool is_alone(const struct nb_rate_auto *rate)
{
    return rate->met_again >= NB_RATE_CONVINCING && rate->sender_share >= NB_RATE_EXACT &&
           rate->base >= NB_RATE_NEARLY_ALL * nb_rate_trains_rate(&rate->trains);
}

double nb_rate_below_capacity(const struct nb_rate_auto *rate)
{
    double packets = rate->base * nb_seconds(nb_rate_own_round_trip(rate));
    bool fine =
        packets >= NB_RATE_FINE_PACKETS && is_alone(rate) && !nb_rate_path_is_near(rate) && !nb_rate_path_is_long(rate);
    return fine ? NB_RATE_BELOW_CAPACITY_FINE : NB_RATE_BELOW_CAPACITY;
}

netblt_time nb_rate_window_us(const struct nb_rate_auto *rate)
{
    netblt_time bursts_us = nb_rate_bursts_measured_us(rate);
    netblt_time least = nb_clamp_us(rate->round_trip_us / 2, NB_RATE_BRIEF_US, NB_RATE_RECOVERY_US);
    return least > bursts_us ? least : bursts_us;
}

double nb_rate_most_possible(const struct nb_rate_auto *rate)
{
    double cap = rate->capped.size == 0 ? NB_RATE_UNPACED : nb_pair_rate(rate->capped);
    return cap < rate->limit ? cap : rate->limit;
}

void nb_rate_set_base(struct nb_rate_auto *rate, double packets_per_s, const char *why)
{
    double most = nb_rate_most_possible(rate);
    double floor = NB_RATE_FLOOR < most ? NB_RATE_FLOOR : most;
    rate->base = nb_clamp(packets_per_s, floor, most);
    rate->why = why;
}

bool nb_rate_a_queue_stands(const struct nb_rate_auto *rate)
{
    netblt_time recent = nb_minimum_get(&rate->recent);
    return recent != NETBLT_TIME_NEVER && recent > nb_rate_own_round_trip(rate) + nb_rate_queue_limit_us(rate);
}

bool nb_rate_any_queue(const struct nb_rate_auto *rate)
{
    netblt_time recent = nb_minimum_get(&rate->recent);
    netblt_time most = nb_rate_own_round_trip(rate) + queue_of_interest_us(rate) / NB_RATE_ANY_QUEUE_PART;
    return recent == NETBLT_TIME_NEVER || recent > most;
}

bool nb_rate_path_is_near(const struct nb_rate_auto *rate)
{
    netblt_time least = nb_minimum_get(&rate->shortest);
    return least < NB_RATE_NEAR_US;
}

bool nb_rate_path_is_long(const struct nb_rate_auto *rate)
{
    return rate->round_trip_us > NB_RATE_LONG_US;
}

bool nb_rate_sender_was_late(const struct nb_rate_auto *rate, const struct nb_rate_result *result)
{
    double trains = nb_rate_trains_rough_rate(&rate->trains);
    return NB_RATE_NEARLY_ALL * trains >= rate->epochs.in_force.rate &&
           result->lost <= NB_RATE_LOSS_MARGIN * result->packets && !nb_rate_path_is_near(rate) &&
           !nb_rate_a_queue_stands(rate);
}

double nb_rate_shown_on_long_path(const struct nb_rate_auto *rate, double from)
{
    double shown = NB_RATE_TRAIN_SHARE * nb_rate_trains_rate(&rate->trains);
    return shown <= NB_RATE_START_GROWTH * from ? shown : 0;
}

bool nb_rate_path_is_the_limit(const struct nb_rate_auto *rate)
{
    bool asked = rate->state == NB_RATE_START && rate->epochs.in_force.rate <= nb_pair_rate(rate->negotiated);
    if (!nb_rate_path_is_near(rate) && !asked)
        return true;
    netblt_time recent = nb_minimum_get(&rate->recent);
    return recent != NETBLT_TIME_NEVER && recent > nb_rate_own_round_trip(rate) + NB_RATE_NEAR_US / 2;
}
