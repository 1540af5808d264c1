/* SPDX-License-Identifier: BSD-2-Clause */
#include "rate_control.h"

void nb_rate_control_init(struct nb_rate_control *rate, struct nb_burst negotiated)
{
    rate->offer = negotiated;
}

struct nb_burst nb_rate_control_offer(const struct nb_rate_control *rate)
{
    return rate->offer;
}

struct nb_burst nb_rate_control_restrict(struct nb_burst offer, struct nb_burst current, struct nb_burst own_limit,
                                         bool *restricted)
{
    struct nb_burst settled = {
        .size = offer.size == 0 ? current.size : offer.size,
        .interval_ms = offer.interval_ms,
    };
    if (settled.size > own_limit.size)
        settled.size = own_limit.size;
    if (settled.interval_ms < own_limit.interval_ms)
        settled.interval_ms = own_limit.interval_ms;
    *restricted = settled.size != offer.size || settled.interval_ms != offer.interval_ms;
    return settled;
}
