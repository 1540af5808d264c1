/* SPDX-License-Identifier: BSD-2-Clause */
/* A queue of equal-size items that grows. */
#ifndef NETBLT_CORE_RING_H
#define NETBLT_CORE_RING_H

#include <netblt/types.h>
#include <stdbool.h>
#include <stddef.h>

/* A queue of equal-size items that grows by halves: control messages, buffers in flight. Pointers to items are valid
 * until the next push. */
struct nb_ring {
    const netblt_allocator *allocator;
    unsigned char *items;
    size_t item_bytes;
    size_t capacity;
    size_t head;
    size_t count;
};

void nb_ring_init(struct nb_ring *ring, size_t item_bytes, const netblt_allocator *allocator);
void nb_ring_free(struct nb_ring *ring);
/* Item `i` from the front; i < count. */
void *nb_ring_at(const struct nb_ring *ring, size_t i);
/* A zeroed item at the back; NULL when memory is short. */
void *nb_ring_push(struct nb_ring *ring);
void nb_ring_pop_front(struct nb_ring *ring);
void nb_ring_pop_back(struct nb_ring *ring);

#endif
