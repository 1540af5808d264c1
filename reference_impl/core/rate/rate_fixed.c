/* SPDX-License-Identifier: BSD-2-Clause */
/* The fixed rate controller: offers the negotiated pair, and restricts offers to the sender's own pair. */
#include "rate/rate_fixed.h"

static void begin(void *state, const struct nb_rate_setup *setup)
{
    struct nb_rate_fixed *rate = state;
    *rate = (struct nb_rate_fixed){.negotiated = setup->negotiated};
}

static struct nb_burst negotiated(const void *state)
{
    const struct nb_rate_fixed *rate = state;
    return rate->negotiated;
}

static struct nb_burst offer(void *state, uint16_t seq, netblt_time now)
{
    (void)seq;
    (void)now;
    return negotiated(state);
}

/* NEG-09: field by field. */
static struct nb_burst adopt(struct nb_burst offer, struct nb_burst current, const struct nb_rate_limits *limits,
                             bool *restricted)
{
    struct nb_burst own_limit = limits->pair;
    struct nb_burst settled = {
        .size = offer.size == 0 ? current.size : offer.size,
        .interval_ms = offer.interval_ms,
    };
    if (settled.size > own_limit.size && own_limit.interval_ms != 0) /* not paced, a burst has no size */
        settled.size = own_limit.size;
    if (settled.interval_ms < own_limit.interval_ms)
        settled.interval_ms = own_limit.interval_ms;
    *restricted = settled.size != offer.size || settled.interval_ms != offer.interval_ms;
    return settled;
}

const struct nb_rate_controller nb_rate_fixed = {
    .name = "fixed",
    .begin = begin,
    .offer = offer,
    .in_force = negotiated,
    .adopt = adopt,
};
