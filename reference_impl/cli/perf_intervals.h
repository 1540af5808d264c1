/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NETBLT_CLI_PERF_INTERVALS_H
#define NETBLT_CLI_PERF_INTERVALS_H

#include <stddef.h>

#include <netblt/types.h>

#include "cli/json.h"

/* What a receiver completed when: bytes of buffers in each tenth of a second since the first one. A benchmark reads
 * from it what a transfer does once it has settled. All zero: nothing yet. */
typedef struct perf_intervals {
    netblt_time first_at; /* the first buffer was complete */
    uint64_t *bytes;
    size_t count;
    size_t capacity;
} perf_intervals;

void perf_intervals_add(perf_intervals *intervals, netblt_time now, uint64_t bytes);
/* Members first_us, interval_ms and intervals of the object that is being written; nothing when nothing came. */
void perf_intervals_write(const perf_intervals *intervals, json_writer *json);
void perf_intervals_free(perf_intervals *intervals);

#endif
