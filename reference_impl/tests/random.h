/* SPDX-License-Identifier: BSD-2-Clause */
/* Random numbers for tests (splitmix64): a seed gives the same numbers on every machine. */
#ifndef NETBLT_TESTS_RANDOM_H
#define NETBLT_TESTS_RANDOM_H

#include <stdbool.h>
#include <stdint.h>

struct random {
    uint64_t state;
};

static inline uint64_t random_next(struct random *random)
{
    uint64_t z = (random->state += UINT64_C(0x9E3779B97F4A7C15));
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

/* 0 .. below - 1; below >= 1. */
static inline uint64_t random_below(struct random *random, uint64_t below)
{
    return random_next(random) % below;
}

static inline bool random_chance(struct random *random, unsigned permille)
{
    return random_below(random, 1000) < permille;
}

#endif
