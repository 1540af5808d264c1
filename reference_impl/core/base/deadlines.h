/* SPDX-License-Identifier: BSD-2-Clause */
/* The heap of deadlines: which connection is due next. */
#ifndef NETBLT_CORE_DEADLINES_H
#define NETBLT_CORE_DEADLINES_H

#include <netblt/types.h>
#include <stdbool.h>
#include <stddef.h>

/* A binary heap of moments: which of many connections is due next, in logarithmic time. */

#define NB_NOT_SCHEDULED SIZE_MAX

/* Embedded in what is scheduled. */
struct nb_deadline {
    netblt_time at;
    size_t index; /* in the heap, or NB_NOT_SCHEDULED */
};

struct nb_deadlines {
    const netblt_allocator *allocator;
    struct nb_deadline **heap;
    size_t count;
    size_t capacity;
};

void nb_deadlines_free(struct nb_deadlines *deadlines);
/* Makes room for one more entry, so that scheduling never fails. False when memory is short. */
bool nb_deadlines_reserve(struct nb_deadlines *deadlines, size_t entries);
/* Schedules, moves, or (with NETBLT_TIME_NEVER) removes. */
void nb_deadlines_set(struct nb_deadlines *deadlines, struct nb_deadline *deadline, netblt_time at);
/* The earliest entry, or NULL. */
struct nb_deadline *nb_deadlines_first(const struct nb_deadlines *deadlines);

#endif
