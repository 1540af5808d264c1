/* SPDX-License-Identifier: BSD-2-Clause */
/* Big-endian numbers in byte arrays, and alignment to four bytes. */
#ifndef NETBLT_CORE_BYTES_H
#define NETBLT_CORE_BYTES_H

#include <stddef.h>
#include <stdint.h>

/* Big-endian fields (WIRE-02). */

static inline uint16_t nb_get16(const uint8_t *at)
{
    return (uint16_t)(at[0] << 8 | at[1]);
}

static inline uint32_t nb_get32(const uint8_t *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static inline void nb_put16(uint8_t *at, uint16_t value)
{
    at[0] = (uint8_t)(value >> 8);
    at[1] = (uint8_t)value;
}

static inline void nb_put32(uint8_t *at, uint32_t value)
{
    nb_put16(at, (uint16_t)(value >> 16));
    nb_put16(at + 2, (uint16_t)value);
}

/* The next multiple of a longword (WIRE-05). */
static inline size_t nb_align4(size_t bytes)
{
    return (bytes + 3) & ~(size_t)3;
}

#endif
