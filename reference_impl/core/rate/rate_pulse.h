/* SPDX-License-Identifier: BSD-2-Clause */
/* Automatic rate control: probes, short times above the base rate that show whether the path carries more. */
#ifndef NETBLT_CORE_RATE_PULSE_H
#define NETBLT_CORE_RATE_PULSE_H

#include "rate/auto_state.h"

/* Pulses: short times above the base rate that show whether the path carries more. */

bool nb_rate_pulse_is_due(const struct nb_rate_auto *rate, netblt_time now);
/* Chooses how long the pulse is, and how far above the base. */
void nb_rate_begin_pulse(struct nb_rate_auto *rate);
/* What came of one. */
void nb_rate_judge_pulse(struct nb_rate_auto *rate, const struct nb_rate_offer *offer,
                         const struct nb_rate_result *result, netblt_time now);
/* Pulses of flows that share a path must not keep step. */
void nb_rate_plan_next_pulse(struct nb_rate_auto *rate, netblt_time now);

#endif
