/* SPDX-License-Identifier: BSD-2-Clause */
/* Automatic rate control: measurements of arriving data over a window of packets. */
#include "rate/rate_window.h"

#include "base/units.h"
#include "rate/rate_constants.h"

void nb_rate_window_begin(struct nb_rate_window *window, netblt_time now)
{
    *window = (struct nb_rate_window){.from = now, .last = now};
}

void nb_rate_window_add(struct nb_rate_window *window, uint32_t gap, netblt_time now)
{
    if (window->count == 0) {
        window->from = now;
    } else {
        window->sent += gap;
        window->runs += gap > 0;
    }
    double at = (double)(now - window->from) / NB_US_PER_S;
    window->sent++;
    window->packets++;
    window->last = now;
    window->count++;
    window->time += at;
    window->time2 += at * at;
    window->sent1 += window->sent;
    window->sent_time += window->sent * at;
}

void nb_rate_window_late(struct nb_rate_window *window)
{
    if (window->sent > window->packets) /* its gap may lie in the window before */
        window->packets++;
}

bool nb_rate_window_result(const struct nb_rate_window *window, struct nb_rate_result *result)
{
    double n = window->count;
    double spread = n * window->time2 - window->time * window->time;
    *result = (struct nb_rate_result){
        .packets = window->packets,
        .lost = window->sent > window->packets ? window->sent - window->packets : 0,
        .seconds = (double)(window->last - window->from) / NB_US_PER_S,
    };
    result->run_length = window->runs > 0 ? result->lost / window->runs : 0;
    if (n < NB_RATE_LINE_PACKETS_MIN || spread <= 0)
        return false;
    result->sent_rate = (n * window->sent_time - window->time * window->sent1) / spread;
    result->arrival_rate = result->sent_rate * window->packets / window->sent;
    return true;
}

/* ---- trains ------------------------------------------------------------------------------------------------ */

static void train_ends(struct nb_rate_trains *trains)
{
    if (trains->length >= NB_RATE_TRAIN_MIN && trains->last - trains->first >= NB_RATE_TRAIN_MIN_US) {
        trains->packets += trains->length - 1;
        trains->seconds += (double)(trains->last - trains->first) / NB_US_PER_S;
        trains->count++;
    }
    if (trains->count >= 2 * NB_RATE_TRAINS_REMEMBERED) {
        trains->packets /= 2;
        trains->seconds /= 2;
        trains->count /= 2;
    }
    trains->length = 0;
}

/* A packet of the train that was delayed by itself: the link did not need so long for it. */
static bool is_straggler(const struct nb_rate_trains *trains, netblt_time now)
{
    netblt_time distance = (trains->last - trains->first) / (trains->length > 1 ? trains->length - 1 : 1);
    return trains->length >= NB_RATE_TRAIN_MIN &&
           now - trains->last > NB_RATE_STRAGGLER_TIMES * distance + NB_RATE_TRAIN_MIN_US;
}

void nb_rate_trains_add(struct nb_rate_trains *trains, bool consecutive, netblt_time gap_us, netblt_time now)
{
    /* A longer train is several bursts without a gap on a saturated link: each part of it is measured. */
    bool same = consecutive && trains->length > 0 && trains->length < NB_BURST_USUAL_MOST &&
                now - trains->last < gap_us && !is_straggler(trains, now);
    if (!same) {
        train_ends(trains);
        trains->first = now;
    }
    trains->last = now;
    trains->length++;
}

double nb_rate_trains_rate(const struct nb_rate_trains *trains)
{
    if (trains->count < NB_RATE_TRAIN_MIN)
        return 0;
    return trains->packets / trains->seconds;
}

double nb_rate_trains_rough_rate(const struct nb_rate_trains *trains)
{
    double packets = trains->packets, seconds = trains->seconds;
    if (trains->length >= NB_RATE_TRAIN_MIN && trains->last - trains->first >= NB_RATE_TRAIN_MIN_US) {
        packets += trains->length - 1;
        seconds += (double)(trains->last - trains->first) / NB_US_PER_S;
    }
    return packets < NB_RATE_PACKETS_MIN ? 0 : packets / seconds;
}

/* ---- minima ------------------------------------------------------------------------------------------------ */

void nb_minimum_init(struct nb_minimum *minimum)
{
    *minimum = (struct nb_minimum){.current = NETBLT_TIME_NEVER, .before = NETBLT_TIME_NEVER};
}

bool nb_minimum_add(struct nb_minimum *minimum, netblt_time value, netblt_time period_us, unsigned samples,
                    netblt_time now)
{
    if (minimum->samples == 0)
        minimum->since = now;
    if (value < minimum->current)
        minimum->current = value;
    minimum->samples++;
    if (minimum->samples < samples || now - minimum->since < period_us)
        return false;
    minimum->before = minimum->current;
    minimum->current = NETBLT_TIME_NEVER;
    minimum->samples = 0;
    return true;
}

netblt_time nb_minimum_get(const struct nb_minimum *minimum)
{
    return minimum->current < minimum->before ? minimum->current : minimum->before;
}

void nb_peak_add(struct nb_peak *peak, double rate, netblt_time period_us, netblt_time now)
{
    if (now - peak->since >= period_us) {
        peak->before = now - peak->since < 2 * period_us ? peak->current : 0;
        peak->current = 0;
        peak->since = now;
    }
    if (rate > peak->current)
        peak->current = rate;
}

double nb_peak_get(const struct nb_peak *peak)
{
    return peak->current > peak->before ? peak->current : peak->before;
}
