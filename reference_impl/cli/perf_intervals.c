/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/perf_intervals.h"

#include <stdlib.h>
#include <string.h>

#define INTERVAL_US 100000
#define INTERVALS_MAX 36000 /* an hour; what comes later is in the totals only */

static bool make_room(perf_intervals *intervals, size_t index)
{
    size_t capacity = intervals->capacity == 0 ? 64 : intervals->capacity;

    while (capacity <= index)
        capacity *= 2;
    if (capacity > intervals->capacity) {
        uint64_t *bytes = realloc(intervals->bytes, capacity * sizeof *bytes);
        if (bytes == NULL)
            return false;
        memset(bytes + intervals->capacity, 0, (capacity - intervals->capacity) * sizeof *bytes);
        intervals->bytes = bytes;
        intervals->capacity = capacity;
    }
    return true;
}

void perf_intervals_add(perf_intervals *intervals, netblt_time now, uint64_t bytes)
{
    if (intervals->first_at == 0)
        intervals->first_at = now;
    size_t index = (size_t)((now - intervals->first_at) / INTERVAL_US);
    if (index >= INTERVALS_MAX || !make_room(intervals, index))
        return;
    intervals->bytes[index] += bytes;
    if (intervals->count <= index)
        intervals->count = index + 1;
}

void perf_intervals_write(const perf_intervals *intervals, json_writer *json)
{
    if (intervals->count == 0)
        return;
    json_number(json, "first_us", intervals->first_at);
    json_number(json, "interval_ms", INTERVAL_US / 1000);
    json_begin_list(json, "intervals");
    for (size_t i = 0; i < intervals->count; i++)
        json_number(json, NULL, intervals->bytes[i]);
    json_end_list(json);
}

void perf_intervals_free(perf_intervals *intervals)
{
    free(intervals->bytes);
    *intervals = (perf_intervals){0};
}
