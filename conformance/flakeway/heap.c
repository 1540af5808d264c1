/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Packets on their way, ordered by release time. */
#include "heap.h"

#include <assert.h>
#include <stdlib.h>

static bool before(const fw_heap_entry *a, const fw_heap_entry *b)
{
    return a->release_us != b->release_us ? a->release_us < b->release_us : a->order < b->order;
}

static bool grow(fw_heap *heap)
{
    size_t capacity = heap->capacity ? heap->capacity * 2 : 64;
    fw_heap_entry *entries = realloc(heap->entries, capacity * sizeof *entries);
    if (!entries)
        return false;
    heap->entries = entries;
    heap->capacity = capacity;
    return true;
}

bool fw_heap_push(fw_heap *heap, uint64_t release_us, void *item)
{
    if (heap->count == heap->capacity && !grow(heap))
        return false;
    fw_heap_entry entry = {.release_us = release_us, .order = heap->next_order++, .item = item};
    size_t at = heap->count++;
    while (at > 0 && before(&entry, &heap->entries[(at - 1) / 2])) {
        heap->entries[at] = heap->entries[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    heap->entries[at] = entry;
    return true;
}

const fw_heap_entry *fw_heap_first(const fw_heap *heap)
{
    return heap->count ? &heap->entries[0] : NULL;
}

fw_heap_entry fw_heap_pop(fw_heap *heap)
{
    assert(heap->count > 0);
    fw_heap_entry first = heap->entries[0];
    fw_heap_entry moved = heap->entries[--heap->count];
    size_t at = 0;
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= heap->count)
            break;
        if (child + 1 < heap->count && before(&heap->entries[child + 1], &heap->entries[child]))
            child++;
        if (!before(&heap->entries[child], &moved))
            break;
        heap->entries[at] = heap->entries[child];
        at = child;
    }
    if (heap->count)
        heap->entries[at] = moved;
    return first;
}

void fw_heap_free(fw_heap *heap)
{
    free(heap->entries);
    *heap = (fw_heap){0};
}
