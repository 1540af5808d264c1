/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "series.h"

/* Which segment holds the entry; *offset: its place there. */
static unsigned segment_of(uint32_t at, uint32_t *offset)
{
    const uint32_t beyond = at / NB_SERIES_FIRST + 1;
    const unsigned segment = (unsigned)g_bit_storage(beyond) - 1;

    *offset = at - ((uint32_t)NB_SERIES_FIRST << segment) + NB_SERIES_FIRST;
    return segment;
}

void *nb_series_at(const struct nb_series *series, uint32_t at, size_t size)
{
    uint32_t offset;
    const unsigned segment = segment_of(at, &offset);

    return (uint8_t *)series->segment[segment] + offset * size;
}

bool nb_series_grow(struct nb_series *series, uint32_t count, size_t size)
{
    uint32_t offset;

    if (count > series->count && segment_of(count - 1, &offset) >= NB_SERIES_SEGMENTS) {
        return false;
    }
    while (series->count < count) {
        const unsigned segment = segment_of(series->count, &offset);
        if (series->segment[segment] == NULL) {
            series->segment[segment] = wmem_alloc(wmem_file_scope(), ((size_t)NB_SERIES_FIRST << segment) * size);
        }
        /* One by one: what is not used yet costs no memory. */
        memset((uint8_t *)series->segment[segment] + offset * size, 0, size);
        series->count++;
    }
    return true;
}
