/* SPDX-License-Identifier: BSD-2-Clause */
/* A queue of equal-size items that grows. */
#include "base/ring.h"

#include "base/allocator.h"

#include <assert.h>
#include <string.h>

/* Small enough for the usual handful of buffers; each growth adds half, so that no more than half lies idle. */
#define RING_FIRST_CAPACITY_ITEMS 8

void nb_ring_init(struct nb_ring *ring, size_t item_bytes, const netblt_allocator *allocator)
{
    *ring = (struct nb_ring){.allocator = allocator, .item_bytes = item_bytes};
}

void nb_ring_free(struct nb_ring *ring)
{
    nb_release(ring->allocator, ring->items);
    nb_ring_init(ring, ring->item_bytes, ring->allocator);
}

void *nb_ring_at(const struct nb_ring *ring, size_t i)
{
    assert(i < ring->count);
    size_t at = ring->head + i;
    return ring->items + (at < ring->capacity ? at : at - ring->capacity) * ring->item_bytes;
}

/* The ring is full: items [head, capacity) come before items [0, head). Whichever of the two can, moves. */
static bool ring_grow(struct nb_ring *ring)
{
    size_t before = ring->capacity, bytes = ring->item_bytes;
    size_t capacity = before == 0 ? RING_FIRST_CAPACITY_ITEMS : before + before / 2;
    unsigned char *items = nb_reallocate(ring->allocator, ring->items, capacity * bytes);
    if (items == NULL)
        return false;
    if (ring->head <= capacity - before) {
        if (ring->head > 0)
            memcpy(items + before * bytes, items, ring->head * bytes);
    } else {
        size_t head = capacity - (before - ring->head);
        memmove(items + head * bytes, items + ring->head * bytes, (before - ring->head) * bytes);
        ring->head = head;
    }
    ring->items = items;
    ring->capacity = capacity;
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
    ring->head = ring->head + 1 < ring->capacity ? ring->head + 1 : 0;
    ring->count--;
}

void nb_ring_pop_back(struct nb_ring *ring)
{
    assert(ring->count > 0);
    ring->count--;
}
