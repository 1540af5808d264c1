/* SPDX-License-Identifier: BSD-2-Clause */
/* Automatic rate control: back-off when the round trip shows a queue. */
#ifndef NETBLT_CORE_RATE_QUEUE_H
#define NETBLT_CORE_RATE_QUEUE_H

#include "rate/auto_state.h"

/* The least round trip of the recent past is known: backs off when it shows a queue. */
void nb_rate_judge_queue(struct nb_rate_auto *rate, netblt_time least_us, netblt_time now);

#endif
