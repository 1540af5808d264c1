/* SPDX-License-Identifier: BSD-2-Clause */
/* The rate that the path carried during a transfer: see carried_rate.h. */
#include "cli/path_memory/carried_rate.h"

/* Fewer confirmations show no rate. */
#define SAMPLES_MIN 8
/* A busy host confirms several buffers at the same moment: a shorter time shows no rate. */
#define SPAN_MIN_US 20000
/* Buffers wait a round trip for a retransmission. Over fewer round trips than this, the rate may be that of the
 * start, and not that of the path. */
#define ROUND_TRIPS_MIN 4

static void keep_every_second(carried_samples *all)
{
    all->count /= 2;
    for (unsigned i = 0; i < all->count; i++)
        all->samples[i] = all->samples[2 * i + 1];
    all->buffers_each *= 2;
}

void carried_add(carried_samples *all, uint64_t bytes, netblt_time now)
{
    all->bytes += bytes;
    all->last_at = now;
    if (all->buffers_each == 0)
        all->buffers_each = 1;
    if (++all->buffers < all->buffers_each)
        return;
    all->buffers = 0;
    if (all->count == CARRIED_SAMPLES_MAX)
        keep_every_second(all);
    all->samples[all->count].at = now;
    all->samples[all->count++].bytes = all->bytes;
}

/* The first sample with so many bytes. */
static unsigned sample_with(const carried_samples *all, uint64_t bytes)
{
    unsigned i = 0;
    while (i + 1 < all->count && all->samples[i].bytes < bytes)
        i++;
    return i;
}

carried_rate carried_get(const carried_samples *all, netblt_time round_trip_us)
{
    carried_rate none = {.bytes_per_s = 0};
    if (all->count < SAMPLES_MIN)
        return none;
    unsigned from = sample_with(all, all->bytes / 4);
    unsigned to = sample_with(all, all->bytes - all->bytes / 4);
    netblt_time span_us = all->samples[to].at - all->samples[from].at;
    if (span_us < SPAN_MIN_US)
        return none;
    uint64_t bytes = all->samples[to].bytes - all->samples[from].bytes;
    return (carried_rate){.bytes_per_s = (double)bytes * 1e6 / (double)span_us,
                          .is_least = span_us < ROUND_TRIPS_MIN * round_trip_us};
}
