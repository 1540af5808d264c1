/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An array that grows without moving: what it has outgrown would be memory lost, and copying takes time. */
#ifndef NETBLT_SERIES_H
#define NETBLT_SERIES_H

#include "wireshark/compat.h"

/* Segment k holds NB_SERIES_FIRST << k entries: small for the thousands of connections that end soon. */
enum { NB_SERIES_FIRST = 4, NB_SERIES_NEAR = 3, NB_SERIES_SEGMENTS = 26 };

struct nb_series {
    void *segment[NB_SERIES_NEAR]; /* file scope */
    void **more; /* [NB_SERIES_SEGMENTS - NB_SERIES_NEAR] those after it; NULL as long as there are none */
    uint32_t count;
};

/* Entry `at`, below the count. `size`: bytes of an entry, the same in all calls for a series. */
void *nb_series_at(const struct nb_series *series, uint32_t at, size_t size);

/* The place of an entry, by its address; it must be one. */
uint32_t nb_series_index(const struct nb_series *series, const void *entry, size_t size);

/* Makes entries up to `count`, zeroed. False when there are too many for any series, or for the memory of the
 * connection (memory.h). */
bool nb_series_grow(struct nb_series *series, uint32_t count, size_t size);

#endif
