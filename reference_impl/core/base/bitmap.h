/* SPDX-License-Identifier: BSD-2-Clause */
/* Bitmaps of packet numbers. */
#ifndef NETBLT_CORE_BITMAP_H
#define NETBLT_CORE_BITMAP_H

#include "base/allocator.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One bit for each packet of a buffer: all the bookkeeping that a buffer needs beside the client's own memory. */

static inline size_t nb_bitmap_words(uint32_t bits)
{
    return ((size_t)bits + 63) / 64;
}

/* All zero; NULL when memory is short. The caller releases it. */
static inline uint64_t *nb_bitmap_new(const netblt_allocator *allocator, uint32_t bits)
{
    return nb_allocate_zeroed(allocator, nb_bitmap_words(bits) * sizeof(uint64_t));
}

static inline bool nb_bitmap_test(const uint64_t *map, uint32_t bit)
{
    return (map[bit / 64] >> (bit % 64) & 1) != 0;
}

static inline void nb_bitmap_set(uint64_t *map, uint32_t bit)
{
    map[bit / 64] |= UINT64_C(1) << (bit % 64);
}

static inline void nb_bitmap_clear(uint64_t *map, uint32_t bit)
{
    map[bit / 64] &= ~(UINT64_C(1) << (bit % 64));
}

/* The lowest bit >= from with the wanted value, or `bits` when there is none. */
static inline uint32_t nb_bitmap_next(const uint64_t *map, uint32_t from, uint32_t bits, bool wanted)
{
    while (from < bits) {
        uint64_t word = (wanted ? map[from / 64] : ~map[from / 64]) >> (from % 64);
        if (word != 0) {
            from += (uint32_t)__builtin_ctzll(word);
            return from < bits ? from : bits;
        }
        from = (from / 64 + 1) * 64;
    }
    return bits;
}

#endif
