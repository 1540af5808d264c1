/* SPDX-License-Identifier: BSD-2-Clause */
/* SipHash-2-4 (Aumasson, Bernstein: SipHash, a fast short-input PRF, 2012). */
#include "base/keyed_hash.h"

struct state {
    uint64_t v0, v1, v2, v3;
};

static uint64_t rotate_left(uint64_t value, unsigned bits)
{
    return value << bits | value >> (64 - bits);
}

static void mix(struct state *state, unsigned rounds)
{
    for (unsigned i = 0; i < rounds; i++) {
        state->v0 += state->v1;
        state->v2 += state->v3;
        state->v1 = rotate_left(state->v1, 13) ^ state->v0;
        state->v3 = rotate_left(state->v3, 16) ^ state->v2;
        state->v0 = rotate_left(state->v0, 32);
        state->v2 += state->v1;
        state->v0 += state->v3;
        state->v1 = rotate_left(state->v1, 17) ^ state->v2;
        state->v3 = rotate_left(state->v3, 21) ^ state->v0;
        state->v2 = rotate_left(state->v2, 32);
    }
}

/* Up to eight bytes, little-endian. */
static uint64_t read_word(const uint8_t *bytes, size_t length)
{
    uint64_t word = 0;
    for (size_t i = 0; i < length; i++)
        word |= (uint64_t)bytes[i] << (8 * i);
    return word;
}

static void absorb(struct state *state, uint64_t word)
{
    state->v3 ^= word;
    mix(state, 2);
    state->v0 ^= word;
}

struct nb_hash_key nb_hash_key_read(const uint8_t bytes[16])
{
    return (struct nb_hash_key){{read_word(bytes, 8), read_word(bytes + 8, 8)}};
}

uint64_t nb_keyed_hash(const struct nb_hash_key *key, const void *bytes, size_t length)
{
    const uint8_t *at = bytes;
    struct state state = {
        key->words[0] ^ UINT64_C(0x736F6D6570736575),
        key->words[1] ^ UINT64_C(0x646F72616E646F6D),
        key->words[0] ^ UINT64_C(0x6C7967656E657261),
        key->words[1] ^ UINT64_C(0x7465646279746573),
    };
    size_t left = length;
    for (; left >= 8; left -= 8, at += 8)
        absorb(&state, read_word(at, 8));
    absorb(&state, (uint64_t)(length & 0xFF) << 56 | read_word(at, left));
    state.v2 ^= 0xFF;
    mix(&state, 4);
    return state.v0 ^ state.v1 ^ state.v2 ^ state.v3;
}
