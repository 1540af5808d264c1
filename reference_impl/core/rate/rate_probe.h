/* SPDX-License-Identifier: BSD-2-Clause */
/* Automatic rate control: probes, short times above the base rate that show whether the path carries more. */
#ifndef NETBLT_CORE_RATE_PROBE_H
#define NETBLT_CORE_RATE_PROBE_H

#include "rate/auto_state.h"

bool nb_rate_probe_is_due(const struct nb_rate_auto *rate, netblt_time now);
/* Chooses how long the probe is, and how far above the base. */
void nb_rate_begin_probe(struct nb_rate_auto *rate);
/* What came of one. */
void nb_rate_judge_probe(struct nb_rate_auto *rate, const struct nb_rate_offer *offer,
                         const struct nb_rate_result *result, netblt_time now);
/* Probes of flows that share a path must not keep step. */
void nb_rate_plan_next_probe(struct nb_rate_auto *rate, netblt_time now);

#endif
