/* SPDX-License-Identifier: BSD-2-Clause */
/* Random numbers of netblt-paths. */
#ifndef NETBLT_BENCH_PATH_RANDOM_H
#define NETBLT_BENCH_PATH_RANDOM_H

#include <math.h>
#include <netblt/types.h>
#include <stdint.h>

/* What netblt-paths draws by chance; the same state gives the same again. */

static inline uint64_t path_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

/* Between 0 and 1. */
static inline double path_random_share(uint64_t *state)
{
    return ((double)path_random(state) + 0.5) / 2147483648.0;
}

/* Of the logarithm of how late a host wakes up: 60 us in the median and 800 us at the 99th percentile, as a busy Linux
 * host does, lie 2.33 of these apart. */
#define PATH_WAKE_DEVIATION 1.113
#define PATH_TURN 6.283185307179586

/* How late a sleeping host wakes up this time (Box and Muller). */
static inline netblt_time path_random_lateness_us(uint64_t *state, double median_us)
{
    if (median_us == 0)
        return 0;
    double normal = sqrt(-2 * log(path_random_share(state))) * cos(PATH_TURN * path_random_share(state));
    return (netblt_time)(median_us * exp(PATH_WAKE_DEVIATION * normal));
}

#endif
