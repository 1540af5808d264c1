/* SPDX-License-Identifier: BSD-2-Clause */
/* netblt-paths --whole: completion times of whole transfers over a table of paths. */
#ifndef NETBLT_BENCH_PATHS_WHOLE_H
#define NETBLT_BENCH_PATHS_WHOLE_H

#include <stdbool.h>
#include <stdint.h>

struct whole_choice {
    uint64_t seed; /* the first */
    unsigned seeds;
    uint32_t wake_us;     /* struct hosts */
    double known_percent; /* of the path's rate is what an earlier transfer has measured; 0 = there was none */
    bool receiver_opens;
    bool trace;
    char **words; /* only rows whose names begin with one of these */
    int count;    /* of words; 0 = all rows */
};

/* Runs and prints the rows. The exit status: 0 every row met its goal, 1 one did not, 2 no row has such a name. */
int paths_whole(const struct whole_choice *choice);

#endif
