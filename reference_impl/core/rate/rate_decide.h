/* SPDX-License-Identifier: BSD-2-Clause */
/* Automatic rate control: the decision from the measurements. */
#ifndef NETBLT_CORE_RATE_DECIDE_H
#define NETBLT_CORE_RATE_DECIDE_H

#include "rate/auto_state.h"

/* What automatic rate control makes of its measurements; rate_control.c feeds it. */

/* The window of an epoch that has ended, or of a base rate that was measured long enough. */
void nb_rate_judge(struct nb_rate_auto *rate, const struct nb_rate_offer *offer, const struct nb_rate_result *result,
                   netblt_time now);
/* What the next OK should offer. Answers the phase; the rate is in *packets_per_s. */
enum nb_rate_phase nb_rate_next_phase(struct nb_rate_auto *rate, double *packets_per_s, netblt_time now);
/* Data arrives after an outage. */
void nb_rate_judge_silence(struct nb_rate_auto *rate);

#endif
