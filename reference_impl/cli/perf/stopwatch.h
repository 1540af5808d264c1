/* SPDX-License-Identifier: BSD-2-Clause */
/* Steady-state throughput (RFC 1030 section 3): "the rate at which data is transmitted as the transfer size approaches
 * infinity", without set-up and without the recovery after the last buffer. With F(k) the moment at which buffer k
 * first shows (at the sender: leaves; at the receiver: arrives) and L the last buffer of full size, it is the data of
 * buffers 1 to L-1 divided by F(L) - F(1): each buffer but the last is counted together with all that it took until the
 * next could begin. Repeats take time and carry no data. */
#ifndef NETBLT_CLI_STOPWATCH_H
#define NETBLT_CLI_STOPWATCH_H

#include <stdbool.h>

#include <netblt/types.h>

#define STOPWATCH_LAST 4 /* buffers whose beginnings are remembered: L is the last one or the one before */

typedef struct stopwatch {
    bool running;
    uint32_t first;  /* the first buffer's number on the wire */
    uint64_t newest; /* index of the latest to begin */
    netblt_time began_at;
    netblt_time at[STOPWATCH_LAST]; /* by index modulo STOPWATCH_LAST */
} stopwatch;

/* A packet of buffer `number` went by. */
void stopwatch_see(stopwatch *watch, uint32_t number, netblt_time at);
/* Bits per second of a transfer of `bytes` in buffers of `buffer_size`; 0: too short to measure, it needs two buffers.
 */
double stopwatch_steady_bps(const stopwatch *watch, uint64_t bytes, uint32_t buffer_size);

#endif
