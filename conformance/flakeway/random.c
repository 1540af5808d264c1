/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Random numbers that are the same on every machine: xoshiro256** seeded by splitmix64. */
#include "random.h"

static uint64_t splitmix(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

void fw_random_seed(fw_random *random, uint64_t seed, uint64_t stream)
{
    uint64_t mix = stream;
    uint64_t state = seed ^ splitmix(&mix);
    for (unsigned i = 0; i < 4; i++)
        random->state[i] = splitmix(&state);
}

static uint64_t rotate_left(uint64_t x, unsigned bits)
{
    return (x << bits) | (x >> (64 - bits));
}

uint64_t fw_random_next(fw_random *random)
{
    uint64_t *s = random->state;
    uint64_t result = rotate_left(s[1] * 5, 7) * 9;
    uint64_t shifted = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= shifted;
    s[3] = rotate_left(s[3], 45);
    return result;
}

uint64_t fw_below(uint64_t draw, uint64_t bound)
{
    if (bound > UINT64_C(1) << 32)
        return (uint64_t)(((unsigned __int128)draw * bound) >> 64);
    return ((draw >> 32) * bound) >> 32; /* the upper half of the draw, scaled: no division, no bias that matters */
}

bool fw_chance(uint64_t draw, uint32_t ppb)
{
    return fw_below(draw, FW_PPB_ALWAYS) < ppb;
}

double fw_exponential(fw_random *random)
{
    double u = ((double)(fw_random_next(random) >> 11) + 1) / 9007199254740992.0; /* 2^53: in (0, 1] */
    double result = 0;
    /* NOLINTNEXTLINE(cert-flp30-c,clang-analyzer-security.FloatLoopCounter) */
    for (; u < 0.5; u *= 2)
        result += 0.69314718055994530942; /* ln 2 */
    double x = (1 - u) / (1 + u);
    double power = x;
    /* NOLINTNEXTLINE(cert-flp30-c) */
    for (int k = 1; k < 40; k += 2, power *= x * x)
        result += 2 * power / k;
    return result;
}
