/* SPDX-License-Identifier: BSD-2-Clause */
/* Automatic rate control: back-off when the round trip shows a queue. */
#include "rate/rate_queue.h"

#include "rate/rate_loss.h"
#include "rate/rate_path.h"
#include "rate/rate_probe.h"

/* Whether several back-offs shortened nothing: the path itself is longer now. */
static bool path_is_longer(struct nb_rate_auto *rate, netblt_time queue_us, netblt_time least_us)
{
    if (rate->back_offs == 0)
        rate->queue_us = queue_us;
    if (rate->back_offs < NB_RATE_CONVINCING || (double)queue_us < NB_RATE_NEARLY_ALL * (double)rate->queue_us)
        return false;
    nb_minimum_init(&rate->shortest);
    rate->shortest.before = least_us;
    rate->back_offs = 0;
    return true;
}

/* Of the base rate, what really arrives. On a near path a single window shows more of busy hosts than of the path. */
static double arriving_now(const struct nb_rate_auto *rate)
{
    struct nb_rate_result result;
    double arrived = nb_rate_path_is_near(rate) ? nb_peak_get(&rate->peak) : rate->arrived;
    if (arrived == 0 && rate->window.packets >= NB_RATE_PACKETS_MIN && nb_rate_window_result(&rate->window, &result))
        arrived = nb_rate_path_rate(rate, &result);
    return arrived > 0 && arrived < rate->base ? arrived : rate->base;
}

void nb_rate_judge_queue(struct nb_rate_auto *rate, netblt_time least_us, netblt_time now)
{
    netblt_time own = nb_rate_own_round_trip(rate);
    if (rate->state == NB_RATE_START || rate->settling)
        return;
    if (rate->epochs.count != 0 && least_us <= own + NB_RATE_URGENT * nb_rate_queue_limit_us(rate))
        return; /* a probe under way may have left it, and takes it away */
    if (least_us <= own + nb_rate_queue_limit_us(rate)) {
        rate->back_offs = 0;
        return;
    }
    netblt_time queue_us = least_us - own;
    if (path_is_longer(rate, queue_us, least_us))
        return;
    rate->back_offs++;
    rate->settling = true;
    rate->settles_after = rate->offered.seq;
    rate->successes = 0;
    rate->met_again = 0;
    nb_rate_set_base(rate, NB_RATE_BACK_OFF_SHARE * arriving_now(rate), "a queue stands");
    double slower = nb_clamp((double)queue_us / (double)rate->round_trip_us, NB_RATE_GAIN_LEAST, NB_RATE_GAIN_MAX);
    rate->gain = slower;
    rate->offered.phase = NB_RATE_DRAIN;
    rate->offered_at = now;
    rate->phase_us = (netblt_time)((double)queue_us / slower);
    nb_rate_plan_next_probe(rate, now);
}
