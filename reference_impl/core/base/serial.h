/* SPDX-License-Identifier: BSD-2-Clause */
/* Comparison of sequence and buffer numbers that wrap around. */
#ifndef NETBLT_CORE_SERIAL_H
#define NETBLT_CORE_SERIAL_H

#include <stdbool.h>
#include <stdint.h>

/* Serial arithmetic: control sequence numbers wrap modulo 2^16 through 0 (AMB-12), buffer numbers modulo 2^32. Two
 * numbers compare as long as they are less than half the range apart. */

static inline bool nb_seq_after(uint16_t a, uint16_t b)
{
    uint16_t ahead = (uint16_t)(a - b);
    return ahead != 0 && ahead < 0x8000;
}

/* How far buffer number `number` lies above `base`; at or above 2^31 means below it. */
static inline uint32_t nb_buffer_distance(uint32_t number, uint32_t base)
{
    return number - base;
}

static inline bool nb_buffer_below(uint32_t number, uint32_t base)
{
    return nb_buffer_distance(number, base) >= UINT32_C(0x80000000);
}

#endif
