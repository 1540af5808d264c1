/* SPDX-License-Identifier: BSD-2-Clause */
/* The rate that the path carried during a transfer, from the times at which its buffers were confirmed. */
#ifndef NETBLT_CLI_CARRIED_RATE_H
#define NETBLT_CLI_CARRIED_RATE_H

#include <stdbool.h>
#include <stdint.h>

#include <netblt/types.h>

/* An even number: when all are used, every second one goes. */
#define CARRIED_SAMPLES_MAX 64

/* All zero: nothing was confirmed yet. */
typedef struct carried_samples {
    struct {
        netblt_time at;
        uint64_t bytes; /* confirmed by then */
    } samples[CARRIED_SAMPLES_MAX];
    unsigned count;
    unsigned buffers_each; /* between two samples; 0 stands for 1 */
    unsigned buffers;      /* since the newest sample */
    uint64_t bytes;
    netblt_time last_at;
} carried_samples;

typedef struct carried_rate {
    double bytes_per_s; /* of data; 0: not known */
    bool is_least;      /* the transfer was so short that the path may carry more */
} carried_rate;

/* A buffer of `bytes` bytes was confirmed (sender) or delivered (receiver). */
void carried_add(carried_samples *all, uint64_t bytes, netblt_time now);

/* The rate of the middle half of the data: the first quarter comes while the rate is still being found, and the end
 * waits for the last retransmissions. */
carried_rate carried_get(const carried_samples *all, netblt_time round_trip_us);

#endif
