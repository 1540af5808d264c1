/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Packets on their way, ordered by release time. */
#ifndef FLAKEWAY_HEAP_H
#define FLAKEWAY_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Packets on their way, by (release time, order of arrival): packets of one moment leave as they came. */
typedef struct fw_heap_entry {
    uint64_t release_us;
    uint64_t order;
    void *item;
} fw_heap_entry;

typedef struct fw_heap {
    fw_heap_entry *entries;
    size_t count;
    size_t capacity;
    uint64_t next_order;
} fw_heap;

/* false when memory is short. */
bool fw_heap_push(fw_heap *heap, uint64_t release_us, void *item);
/* The first entry; NULL when empty. */
const fw_heap_entry *fw_heap_first(const fw_heap *heap);
/* Takes the first entry away; the heap must not be empty. */
fw_heap_entry fw_heap_pop(fw_heap *heap);
/* Frees the heap's own memory, not the items. */
void fw_heap_free(fw_heap *heap);

#endif
