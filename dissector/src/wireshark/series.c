/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An array that grows without moving its items. */
#include "wireshark/series.h"

#include "wireshark/arena.h"
#include "wireshark/memory.h"

/* Which segment holds the entry; *offset: its place there. */
static unsigned segment_of(uint32_t at, uint32_t *offset)
{
    const uint32_t beyond = at / NB_SERIES_FIRST + 1;
    const unsigned segment = (unsigned)g_bit_storage(beyond) - 1;

    *offset = at - ((uint32_t)NB_SERIES_FIRST << segment) + NB_SERIES_FIRST;
    return segment;
}

static void *segment_at(const struct nb_series *series, unsigned segment)
{
    return segment < NB_SERIES_NEAR ? series->segment[segment]
           : series->more == NULL   ? NULL
                                    : series->more[segment - NB_SERIES_NEAR];
}

void *nb_series_at(const struct nb_series *series, uint32_t at, size_t size)
{
    uint32_t offset;
    const unsigned segment = segment_of(at, &offset);

    return (uint8_t *)segment_at(series, segment) + offset * size;
}

uint32_t nb_series_index(const struct nb_series *series, const void *entry, size_t size)
{
    for (unsigned segment = 0; segment < NB_SERIES_SEGMENTS; segment++) {
        const uint8_t *from = (const uint8_t *)segment_at(series, segment);
        const uint32_t entries = (uint32_t)NB_SERIES_FIRST << segment;
        if (from != NULL && (const uint8_t *)entry >= from && (const uint8_t *)entry < from + entries * size) {
            return entries - NB_SERIES_FIRST + (uint32_t)((size_t)((const uint8_t *)entry - from) / size);
        }
    }
    return 0;
}

enum { SMALL_BYTES = 4096 };

/* Not zeroed when it is large: what is not used yet costs no memory. */
static void *new_segment(size_t bytes)
{
    return bytes <= SMALL_BYTES ? nb_arena_new0(bytes) : wmem_alloc(wmem_file_scope(), bytes);
}

/* Of the segment, made when it is not there. */
static void *make_segment(struct nb_series *series, unsigned segment, size_t size)
{
    if (segment >= NB_SERIES_NEAR && series->more == NULL) {
        series->more = (void **)nb_arena_new0((NB_SERIES_SEGMENTS - NB_SERIES_NEAR) * sizeof(void *));
    }
    void **place = segment < NB_SERIES_NEAR ? &series->segment[segment] : &series->more[segment - NB_SERIES_NEAR];
    if (*place == NULL) {
        *place = new_segment(((size_t)NB_SERIES_FIRST << segment) * size);
    }
    return *place;
}

bool nb_series_grow(struct nb_series *series, uint32_t count, size_t size)
{
    uint32_t offset;

    if (count <= series->count) {
        return true;
    }
    const unsigned last = segment_of(count - 1, &offset);
    if (last >= NB_SERIES_SEGMENTS || !nb_memory_ask((size_t)(count - series->count) * size)) {
        return false;
    }
    while (series->count < count) {
        const unsigned segment = segment_of(series->count, &offset);
        memset((uint8_t *)make_segment(series, segment, size) + offset * size, 0, size);
        nb_memory_take(((size_t)NB_SERIES_FIRST << segment) * size > SMALL_BYTES ? size : 0);
        series->count++;
    }
    return true;
}
