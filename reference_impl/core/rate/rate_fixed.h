/* SPDX-License-Identifier: BSD-2-Clause */
/* The fixed rate controller: the negotiated pair in each OK (RFC 998 4). */
#ifndef NETBLT_CORE_RATE_FIXED_H
#define NETBLT_CORE_RATE_FIXED_H

#include "rate/rate_interface.h"

struct nb_rate_fixed {
    struct nb_burst negotiated;
};

extern const struct nb_rate_controller nb_rate_fixed;

#endif
