/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NETBLT_CORE_RATE_CONTROL_H
#define NETBLT_CORE_RATE_CONTROL_H

#include "pacing.h"

/* The receiver's side of rate control: what each OK offers (NEG-08). Every rate decision of a receiver is taken here.
 */
struct nb_rate_control {
    struct nb_burst offer;
};

void nb_rate_control_init(struct nb_rate_control *rate, struct nb_burst negotiated);
/* The pair for the next OK. Fixed parameters stay exactly fixed: the negotiated pair. */
struct nb_burst nb_rate_control_offer(const struct nb_rate_control *rate);

/* The sender's side (NEG-09): the offer, restricted to what this end can do. A size of 0 keeps the current one
 * (AMB-11). *restricted tells whether the answer differs from the offer, so that a NULL-ACK must report it. */
struct nb_burst nb_rate_control_restrict(struct nb_burst offer, struct nb_burst current, struct nb_burst own_limit,
                                         bool *restricted);

#endif
