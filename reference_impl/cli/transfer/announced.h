/* SPDX-License-Identifier: BSD-2-Clause */
/* What a receiving client does with the transfer size that the sender has announced. */
#ifndef NETBLT_CLI_ANNOUNCED_H
#define NETBLT_CLI_ANNOUNCED_H

#include <stdbool.h>
#include <stdint.h>

/* So many buffers may be requested beyond the announced end: the size is for the client only, and binds no sender
 * (OPEN-11). */
#define ANNOUNCED_BUFFERS_BEYOND 2

/* Whether the client lends memory for buffer `index` of `capacity` bytes while it has lent `lent` others. The core
 * requests all buffers that it has memory for. Requests for buffers that will not come delay the OKs after them by a
 * round trip for every sixty, because all of them share one CONTROL packet (AMB-33). `bytes`: 0 = none were announced.
 */
static inline bool announced_wants(uint64_t bytes, uint64_t index, uint32_t capacity, unsigned lent)
{
    return bytes == 0 || index * capacity < bytes || lent < ANNOUNCED_BUFFERS_BEYOND;
}

#endif
