/* SPDX-License-Identifier: BSD-2-Clause */
#include "ring.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Small enough for the usual handful of buffers, and each growth doubles it. */
#define RING_FIRST_CAPACITY_ITEMS 8

void nb_ring_init(struct nb_ring *ring, size_t item_bytes)
{
    *ring = (struct nb_ring){.item_bytes = item_bytes};
}

void nb_ring_free(struct nb_ring *ring)
{
    free(ring->items);
    nb_ring_init(ring, ring->item_bytes);
}

void *nb_ring_at(const struct nb_ring *ring, size_t i)
{
    assert(i < ring->count);
    return ring->items + ((ring->head + i) & (ring->capacity - 1)) * ring->item_bytes;
}

static bool ring_grow(struct nb_ring *ring)
{
    size_t capacity = ring->capacity == 0 ? RING_FIRST_CAPACITY_ITEMS : ring->capacity * 2;
    unsigned char *items = calloc(capacity, ring->item_bytes);
    if (items == NULL)
        return false;
    for (size_t i = 0; i < ring->count; i++)
        memcpy(items + i * ring->item_bytes, nb_ring_at(ring, i), ring->item_bytes);
    free(ring->items);
    ring->items = items;
    ring->capacity = capacity;
    ring->head = 0;
    return true;
}

void *nb_ring_push(struct nb_ring *ring)
{
    if (ring->count == ring->capacity && !ring_grow(ring))
        return NULL;
    ring->count++;
    void *item = nb_ring_at(ring, ring->count - 1);
    memset(item, 0, ring->item_bytes);
    return item;
}

void nb_ring_pop_front(struct nb_ring *ring)
{
    assert(ring->count > 0);
    ring->head = (ring->head + 1) & (ring->capacity - 1);
    ring->count--;
}

void nb_ring_pop_back(struct nb_ring *ring)
{
    assert(ring->count > 0);
    ring->count--;
}
