/* SPDX-License-Identifier: BSD-2-Clause */
/* Short forms of the calls with which tests begin rate control and adopt offers. */
#ifndef NETBLT_TESTS_RATE_BEGIN_H
#define NETBLT_TESTS_RATE_BEGIN_H

#include "rate/rate_control.h"

static inline void rate_begin(struct nb_rate_control *rate, enum netblt_rate mode, struct nb_burst negotiated,
                              uint32_t buffer_packets, double limit_rate, uint32_t seed)
{
    const struct nb_rate_setup setup = {negotiated, buffer_packets, limit_rate, .seed = seed};
    nb_rate_control_begin(rate, nb_rate_controller_of(mode), &setup);
}

/* The automatic controller without what calls it. */
static inline void rate_begin_auto(struct nb_rate_auto *rate, struct nb_burst negotiated, uint32_t buffer_packets,
                                   double limit_rate, uint32_t seed)
{
    const struct nb_rate_setup setup = {negotiated, buffer_packets, limit_rate, .seed = seed};
    nb_rate_auto.begin(rate, &setup);
}

/* A fixed sender whose own pair is `own_limit` gets an offer. */
static inline struct nb_burst rate_restrict(struct nb_burst offer, struct nb_burst current, struct nb_burst own_limit,
                                            bool *restricted)
{
    const struct nb_rate_limits limits = {.pair = own_limit};
    return nb_rate_fixed.adopt(offer, current, &limits, restricted);
}

/* An automatic sender with a limit of its own gets an offer. */
static inline struct nb_burst rate_follow(struct nb_burst offer, struct nb_burst current, double limit_rate,
                                          bool *restricted)
{
    const struct nb_rate_limits limits = {.packets_per_s = limit_rate};
    return nb_rate_auto.adopt(offer, current, &limits, restricted);
}

#endif
