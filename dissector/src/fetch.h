/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Among thousands of connections nothing of one is in the processor's cache when its turn comes, and what is needed
 * hangs together by pointers. Memory is asked for as soon as it is known where it is, so that it arrives while other
 * work is done; the processor would wait for one piece after the other. Nothing here changes what is found. */
#ifndef NETBLT_FETCH_H
#define NETBLT_FETCH_H

#include "compat.h"

struct nb_packet;
struct nb_stream;

/* Asks for `bytes` bytes; NULL is allowed. */
static inline void nb_fetch(const void *memory, size_t bytes)
{
#ifdef __GNUC__
    enum { CACHE_LINE_BYTES = 64 };

    for (size_t at = 0; memory != NULL && at < bytes; at += CACHE_LINE_BYTES) {
        __builtin_prefetch((const char *)memory + at, 1);
    }
#else
    (void)memory, (void)bytes;
#endif
}

/* Another connection than that of the packet before; NULL: none that is known. Its own state was asked for. */
void nb_fetch_turn(const struct nb_stream *stream);

/* What the state points at, for the first packet of a turn. Is it one? Then, with some work between, what that points
 * at is worth asking for. */
bool nb_fetch_for(const struct nb_stream *stream, const struct nb_packet *packet);
void nb_fetch_more_for(const struct nb_stream *stream, const struct nb_packet *packet);

#endif
