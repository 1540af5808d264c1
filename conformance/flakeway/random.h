/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Random numbers that are the same on every machine: xoshiro256** seeded by splitmix64. */
#ifndef FLAKEWAY_RANDOM_H
#define FLAKEWAY_RANDOM_H

#include <stdbool.h>
#include <stdint.h>

/* xoshiro256** seeded by splitmix64: the same numbers on every machine. */
typedef struct fw_random {
    uint64_t state[4];
} fw_random;

/* Streams of one seed are independent of each other: one consumer's draws never move another's. */
void fw_random_seed(fw_random *random, uint64_t seed, uint64_t stream);
uint64_t fw_random_next(fw_random *random);

/* Probabilities are integers, so that no rounding differs between machines. */
#define FW_PPB_ALWAYS 1000000000u /* parts per billion: 100 % */
bool fw_chance(uint64_t draw, uint32_t ppb);
/* A number in 0..bound-1 from a draw; 0 when bound is 0. */
uint64_t fw_below(uint64_t draw, uint64_t bound);

/* Exponentially distributed with mean 1: -ln(u) by a series of our own, the same with every C library. */
double fw_exponential(fw_random *random);

#endif
