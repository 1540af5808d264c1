/* SPDX-License-Identifier: BSD-2-Clause */
/* The automatic rate controller: it measures what arrives and offers what the path carries (docs/rate-control.md). */
#ifndef NETBLT_CORE_RATE_AUTO_H
#define NETBLT_CORE_RATE_AUTO_H

#include "rate/rate_interface.h"

extern const struct nb_rate_controller nb_rate_auto;

#endif
