/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NETBLT_IO_ENTROPY_H
#define NETBLT_IO_ENTROPY_H

#include <stdint.h>

/* 32 random bits from the kernel: for connection unique IDs (OPEN-04) and ephemeral ports, which the core does not
 * draw. Never fails: without getrandom() it mixes clock and process id. */
uint32_t netblt_random_u32(void);

#endif
