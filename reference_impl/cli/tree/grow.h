/* SPDX-License-Identifier: BSD-2-Clause */
/* Arrays that grow by one element at a time. */
#ifndef NETBLT_CLI_GROW_H
#define NETBLT_CLI_GROW_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/* Most elements of an array are counted in 32 bits. */
#define GROW_CAPACITY_MAX (UINT32_MAX / 4)
#define GROW_FIRST 8

/* `items`, which has `count` elements of `item_bytes`, with room for one more: as it is, or moved to twice the room.
 * NULL when memory is short; then `items` and *capacity are as before. */
static inline void *grow(void *items, size_t count, size_t *capacity, size_t item_bytes)
{
    size_t wanted = *capacity == 0 ? GROW_FIRST : *capacity * 2;
    void *moved;
    if (count < *capacity)
        return items;
    if (*capacity > GROW_CAPACITY_MAX || wanted > SIZE_MAX / item_bytes)
        return NULL;
    moved = realloc(items, wanted * item_bytes);
    if (moved != NULL)
        *capacity = wanted;
    return moved;
}

#endif
