/* SPDX-License-Identifier: BSD-2-Clause */
/* Converts between a rate and the pair of burst size and burst interval in an OK. */
#include "rate/rate_pair.h"

#include <float.h>

double nb_pair_rate(struct nb_burst burst)
{
    return burst.interval_ms == 0 ? NB_RATE_UNPACED : burst.size * NB_MS_PER_S / burst.interval_ms;
}

bool nb_pair_same(struct nb_burst a, struct nb_burst b)
{
    return a.size == b.size && a.interval_ms == b.interval_ms;
}

static uint16_t clamp16(double value)
{
    return value < 1 ? 1 : value > UINT16_MAX ? UINT16_MAX : (uint16_t)value;
}

/* FLT_EPSILON: rates come out of divisions. What misses a whole packet by so little is a whole packet. */

/* The largest burst for an interval that does not exceed the rate; 0 if even one packet does. */
static uint16_t size_for(double packets_per_s, uint16_t interval_ms)
{
    double size = packets_per_s * interval_ms / NB_MS_PER_S + FLT_EPSILON;
    return size < 1 ? 0 : clamp16(size);
}

/* One packet, as often as the rate allows. */
static struct nb_burst slow_pair(double packets_per_s)
{
    double interval = NB_MS_PER_S / packets_per_s;
    uint16_t whole = clamp16(interval);
    return (struct nb_burst){1, whole < UINT16_MAX && (double)whole + FLT_EPSILON < interval ? (uint16_t)(whole + 1)
                                                                                             : whole};
}

/* Whether a burst is longer than wanted, and the next shorter interval can express the rate. */
static bool is_too_long(struct nb_burst pair, uint16_t most)
{
    return pair.size > most && pair.interval_ms > (most < NB_BURST_USUAL_MOST ? 1 : 2);
}

static struct nb_burst better(struct nb_burst best, struct nb_burst pair)
{
    bool smaller = pair.size < best.size && nb_pair_rate(pair) == nb_pair_rate(best);
    return nb_pair_rate(pair) > nb_pair_rate(best) || smaller ? pair : best;
}

struct nb_burst nb_pair_for_rate(double packets_per_s, uint16_t most, uint16_t least_ms, bool roughly)
{
    double enough = (roughly ? NB_RATE_ROUGH : NB_RATE_EXACT) * packets_per_s;
    struct nb_burst best = slow_pair(packets_per_s);
    while (least_ms > 1 && size_for(packets_per_s, least_ms) > most)
        least_ms--;
    /* Ends within 200 ms: from 100 ms on, the interval of a whole number of packets is at most 1 % off. */
    for (uint16_t ms = least_ms; nb_pair_rate(best) < enough; ms++) {
        struct nb_burst pair = {size_for(packets_per_s, ms), ms};
        if (is_too_long(pair, most))
            break;
        if (pair.size > 0)
            best = better(best, pair);
    }
    for (uint16_t ms = least_ms; ms > 1 && nb_pair_rate(best) < enough; ms--) {
        struct nb_burst pair = {size_for(packets_per_s, ms - 1), ms - 1};
        if (pair.size > 0)
            best = better(best, pair);
    }
    return best;
}

struct nb_burst nb_pair_at_least(double packets_per_s, struct nb_burst pair)
{
    if (pair.interval_ms == 0)
        return pair;
    double whole = pair.size * NB_MS_PER_S / packets_per_s - FLT_EPSILON;
    uint16_t interval_ms = whole >= pair.interval_ms ? pair.interval_ms : (uint16_t)(whole + 1);
    uint16_t size = size_for(packets_per_s, interval_ms);
    return (struct nb_burst){size < pair.size ? pair.size : size, interval_ms};
}

struct nb_burst nb_pair_within(double packets_per_s, struct nb_burst cap)
{
    if (cap.interval_ms == 0 && packets_per_s < NB_RATE_UNPACED)
        return nb_pair_for_rate(packets_per_s, NB_BURST_USUAL_MOST, 1, false);
    struct nb_burst best = {size_for(packets_per_s, cap.interval_ms), cap.interval_ms};
    if (best.size >= cap.size)
        return cap;
    for (uint16_t ms = cap.interval_ms; ms < UINT16_MAX && nb_pair_rate(best) < NB_RATE_EXACT * packets_per_s; ms++) {
        struct nb_burst pair = {size_for(packets_per_s, ms), ms};
        if (pair.size > cap.size)
            break;
        best = better(best, pair);
    }
    return best.size > 0 ? best : slow_pair(packets_per_s);
}
