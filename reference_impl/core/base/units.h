/* SPDX-License-Identifier: BSD-2-Clause */
/* Conversions between units of time. */
#ifndef NETBLT_CORE_UNITS_H
#define NETBLT_CORE_UNITS_H

#define NB_US_PER_S 1e6
#define NB_MS_PER_S 1e3
#define NB_US_PER_MS UINT64_C(1000)

#endif
