/* SPDX-License-Identifier: BSD-2-Clause */
/* The heap of deadlines: which connection is due next. */
#include "base/deadlines.h"

#include "base/allocator.h"

#include <assert.h>

#define HEAP_FIRST_CAPACITY_ENTRIES 16

void nb_deadlines_free(struct nb_deadlines *deadlines)
{
    nb_release(deadlines->allocator, deadlines->heap);
    *deadlines = (struct nb_deadlines){.allocator = deadlines->allocator};
}

bool nb_deadlines_reserve(struct nb_deadlines *deadlines, size_t entries)
{
    if (entries <= deadlines->capacity)
        return true;
    size_t capacity = deadlines->capacity == 0 ? HEAP_FIRST_CAPACITY_ENTRIES : deadlines->capacity * 2;
    if (capacity < entries)
        capacity = entries;
    struct nb_deadline **heap = nb_reallocate(deadlines->allocator, deadlines->heap, capacity * sizeof *heap);
    if (heap == NULL)
        return false;
    deadlines->heap = heap;
    deadlines->capacity = capacity;
    return true;
}

static void place(struct nb_deadlines *deadlines, size_t index, struct nb_deadline *deadline)
{
    deadlines->heap[index] = deadline;
    deadline->index = index;
}

static void sift_up(struct nb_deadlines *deadlines, size_t index, struct nb_deadline *deadline)
{
    while (index > 0) {
        size_t parent = (index - 1) / 2;
        if (deadlines->heap[parent]->at <= deadline->at)
            break;
        place(deadlines, index, deadlines->heap[parent]);
        index = parent;
    }
    place(deadlines, index, deadline);
}

static void sift_down(struct nb_deadlines *deadlines, size_t index, struct nb_deadline *deadline)
{
    for (;;) {
        size_t child = 2 * index + 1;
        if (child >= deadlines->count)
            break;
        if (child + 1 < deadlines->count && deadlines->heap[child + 1]->at < deadlines->heap[child]->at)
            child++;
        if (deadline->at <= deadlines->heap[child]->at)
            break;
        place(deadlines, index, deadlines->heap[child]);
        index = child;
    }
    place(deadlines, index, deadline);
}

static void take_out(struct nb_deadlines *deadlines, struct nb_deadline *deadline)
{
    size_t index = deadline->index;
    struct nb_deadline *last = deadlines->heap[--deadlines->count];
    deadline->index = NB_NOT_SCHEDULED;
    if (last == deadline)
        return;
    sift_up(deadlines, index, last);
    sift_down(deadlines, last->index, last);
}

void nb_deadlines_set(struct nb_deadlines *deadlines, struct nb_deadline *deadline, netblt_time at)
{
    bool scheduled = deadline->index != NB_NOT_SCHEDULED;
    if (at == NETBLT_TIME_NEVER) {
        if (scheduled)
            take_out(deadlines, deadline);
        deadline->at = at;
        return;
    }
    if (scheduled && deadline->at == at)
        return;
    deadline->at = at;
    if (!scheduled) {
        assert(deadlines->count < deadlines->capacity);
        sift_up(deadlines, deadlines->count++, deadline);
    } else {
        sift_up(deadlines, deadline->index, deadline);
        sift_down(deadlines, deadline->index, deadline);
    }
}

struct nb_deadline *nb_deadlines_first(const struct nb_deadlines *deadlines)
{
    return deadlines->count == 0 ? NULL : deadlines->heap[0];
}
