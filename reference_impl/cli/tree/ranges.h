/* SPDX-License-Identifier: BSD-2-Clause */
/* Which bytes of a file have come, in any order. */
#ifndef NETBLT_CLI_RANGES_H
#define NETBLT_CLI_RANGES_H

#include <stddef.h>
#include <stdint.h>

typedef struct byte_range {
    uint64_t from;
    uint64_t to; /* of the first byte after it */
} byte_range;

/* All zero is an empty one. */
typedef struct byte_ranges {
    byte_range *all; /* ascending, not adjacent */
    size_t count;
    size_t capacity;
} byte_ranges;

/* 0, or an errno value: ENOMEM. */
int ranges_add(byte_ranges *ranges, byte_range added);
/* Where the bytes that have come from `from` on end; `from` when that byte has not come. */
uint64_t ranges_end(const byte_ranges *ranges, uint64_t from);
void ranges_clear(byte_ranges *ranges);

#endif
