/* SPDX-License-Identifier: BSD-2-Clause */
/* Converts between a rate and the pair of burst size and burst interval in an OK. */
#ifndef NETBLT_CORE_RATE_PAIR_H
#define NETBLT_CORE_RATE_PAIR_H

#include "base/units.h"
#include "rate/pacing.h"
#include "rate/rate_constants.h"

#include <stdint.h>

/* Between a rate in packets a second and the pair of burst size and burst interval that an OK can carry (NEG-08). */

/* Interval 0, not paced, counts as the fastest pace that an OK can carry. */
#define NB_RATE_UNPACED (UINT16_MAX * NB_MS_PER_S)
/* The rate of a pair; packets a second. */
double nb_pair_rate(struct nb_burst burst);

bool nb_pair_same(struct nb_burst a, struct nb_burst b);

/* The pair with the smallest burst whose rate lies at most 1 % below `packets_per_s`, or 10 % when `roughly`, and never
 * above it: small bursts fit small queues. `most` bounds the burst, but for rates above `most` packets a millisecond;
 * under it the closest pair is chosen, even if it misses the rate by more than 1 %. Intervals from `least_ms` on come
 * first, as far as `most` allows. */
struct nb_burst nb_pair_for_rate(double packets_per_s, uint16_t most, uint16_t least_ms, bool roughly);

/* A pair near `packets_per_s`, which is no less than that of `pair`, with neither a smaller burst nor a longer
 * interval: a sender that means `pair`, field by field, restricts it to just that. */
struct nb_burst nb_pair_at_least(double packets_per_s, struct nb_burst pair);

/* The fastest pair up to `packets_per_s` that a sender which restricts every offer to `cap` will adopt as it is. */
struct nb_burst nb_pair_within(double packets_per_s, struct nb_burst cap);

#endif
