/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NETBLT_CLI_PATH_SIZES_H
#define NETBLT_CLI_PATH_SIZES_H

#include <stdint.h>

#include "cli/options/options.h"

/* How a way of given rate and round trip is kept full. */

typedef struct path_buffers {
    uint32_t buffer_size;
    uint16_t max_buffers;
} path_buffers;

/* At least three bandwidth-delay products and two buffers more, in buffers of 64 to 256 KiB and whole packets: one
 * product is on its way, one is being repaired, one waits for its OK to arrive. Where more than forty buffers of
 * 256 KiB would be under way in each product, they are a fortieth of it, but at most 65,535 packets. */
path_buffers path_sizes_buffers(const path_hint *path, uint16_t packet_size);

typedef struct path_bursts {
    uint16_t size;
    uint16_t interval_ms;
} path_bursts;

/* Bursts whose packets, `wire_bytes` each with all headers, come as close to the path's rate as whole packets and whole
 * milliseconds can, from below. Where the round trip is long and the bursts stay small, their interval is 4 ms or more,
 * so that a host which wakes up late by 1 ms can keep the rate (RATE-04). */
path_bursts path_sizes_bursts(const path_hint *path, uint32_t wire_bytes);

#endif
