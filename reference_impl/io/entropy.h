/* SPDX-License-Identifier: BSD-2-Clause */
/* Random numbers of the kernel. */
#ifndef NETBLT_IO_ENTROPY_H
#define NETBLT_IO_ENTROPY_H

#include <stdbool.h>
#include <stdint.h>

#include <netblt/params.h>

/* 32 random bits from the kernel: for connection unique IDs (OPEN-04) and ephemeral ports, which the core does not
 * draw. Never fails: without getrandom() it mixes clock and process id. */
uint32_t netblt_random_u32(void);
/* The secret of an endpoint (netblt_config). False when the kernel has no random bytes: weak ones would promise what
 * they do not keep. */
bool netblt_random_secret(uint8_t secret[NETBLT_SECRET_BYTES]);

#endif
