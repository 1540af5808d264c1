/* SPDX-License-Identifier: BSD-2-Clause */
/* Automatic rate control: start-up, from the negotiated pair to the first limit. */
#ifndef NETBLT_CORE_RATE_START_H
#define NETBLT_CORE_RATE_START_H

#include "rate/auto_state.h"

/* START: from the negotiated pair to the first limit. One step for each offer that is in force and was measured. */
void nb_rate_step_start(struct nb_rate_auto *rate, netblt_time now);

#endif
