/* SPDX-License-Identifier: BSD-2-Clause */
/* BLAKE3 of pieces and of neighbouring subtrees: see piece_hash.h. */
#include "cli/tree/piece_hash.h"

#include <string.h>

#include "blake3/blake3.h"
#include "blake3/blake3_impl.h" /* subtrees are no part of the library's interface */

#include "cli/tree/piece.h"

#define CHUNKS_PER_PIECE (PIECE_BYTES / BLAKE3_CHUNK_LEN)

void blake3_of(const void *bytes, size_t length, uint8_t hash[PIECE_HASH_BYTES])
{
    blake3_hasher hasher;
    blake3_hasher_init(&hasher);
    blake3_hasher_update(&hasher, bytes, length);
    blake3_hasher_finalize(&hasher, hash, PIECE_HASH_BYTES);
}

/* One level up: the values of pairs, and the last one as it is when it has no partner. Returns how many there are. */
static size_t join_pairs(const uint8_t *values, size_t count, uint8_t *parents)
{
    const uint8_t *pairs[MAX_SIMD_DEGREE_OR_2];
    size_t pair_count = count / 2;
    for (size_t i = 0; i < pair_count; i++)
        pairs[i] = values + 2 * i * BLAKE3_OUT_LEN;
    blake3_hash_many(pairs, pair_count, 1, IV, 0, false, PARENT, 0, 0, parents);
    if (count % 2 != 0)
        memcpy(parents + pair_count * BLAKE3_OUT_LEN, values + 2 * pair_count * BLAKE3_OUT_LEN, BLAKE3_OUT_LEN);
    return pair_count + count % 2;
}

void piece_hash(const uint8_t *bytes, size_t length, uint64_t index, bool only, uint8_t hash[PIECE_HASH_BYTES])
{
    uint8_t values[MAX_SIMD_DEGREE_OR_2 * BLAKE3_OUT_LEN];
    uint8_t parents[MAX_SIMD_DEGREE_OR_2 * BLAKE3_OUT_LEN];
    size_t count;
    if (only) {
        blake3_of(bytes, length, hash);
        return;
    }
    count = blake3_compress_subtree_wide(bytes, length, IV, index * CHUNKS_PER_PIECE, 0, values, false);
    while (count > 1) {
        count = join_pairs(values, count, parents);
        memcpy(values, parents, count * BLAKE3_OUT_LEN);
    }
    memcpy(hash, values, BLAKE3_OUT_LEN);
}

void piece_hash_join(const uint8_t left[PIECE_HASH_BYTES], const uint8_t right[PIECE_HASH_BYTES], bool root,
                     uint8_t hash[PIECE_HASH_BYTES])
{
    uint8_t block[BLAKE3_BLOCK_LEN];
    uint32_t value[8];
    memcpy(block, left, PIECE_HASH_BYTES);
    memcpy(block + PIECE_HASH_BYTES, right, PIECE_HASH_BYTES);
    memcpy(value, IV, sizeof value);
    blake3_compress_in_place(value, block, sizeof block, 0, (uint8_t)(PARENT | (root ? ROOT : 0)));
    store_cv_words(hash, value);
}
