/* SPDX-License-Identifier: BSD-2-Clause */
/* Bounds of the memory that a connection takes. */
#ifndef NETBLT_CORE_FOOTPRINT_H
#define NETBLT_CORE_FOOTPRINT_H

#include <stddef.h>
#include <stdint.h>

/* How much memory a connection takes beside the client's buffers: at most one percent of the negotiated buffers and
 * 64 KiB, whatever was negotiated and whatever the peer does. Where buffers or packets are so small that their
 * bookkeeping is larger than that, fewer buffers are outstanding than was negotiated, which is always allowed
 * (DATA-12, AMB-29). */

/* Of the 64 KiB, the rest is for the connection itself, its places in the endpoint's tables, and one RESEND list in the
 * making. */
#define NB_FOOTPRINT_BUFFERS_BYTES ((size_t)34 * 1024)
#define NB_FOOTPRINT_WAITING_BYTES ((size_t)10 * 1024)
/* Buffers that are complete, or have their OK, and wait for a lower one: they cost no memory of the client, but a slot
 * each, at both ends. */
#define NB_FOOTPRINT_WAITING_MAX 4096

/* A ring is at most half larger than what is in it (ring.c). */
#define NB_FOOTPRINT_IN_RING(bytes) ((bytes) + (bytes) / 2)
/* What an allocator adds to a block. */
#define NB_FOOTPRINT_BLOCK_BYTES 16

/* The most items of `bytes` bytes each that fit `allowance`, when each may take `free` bytes beside it; 1 .. most. */
static inline uint32_t nb_footprint_items(size_t bytes, size_t free, size_t allowance, uint32_t most)
{
    if (bytes <= free || most <= 1)
        return most;
    size_t fit = allowance / (bytes - free);
    return fit == 0 ? 1 : fit < most ? (uint32_t)fit : most;
}

#endif
