/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NETBLT_CLI_PERF_MEMORY_H
#define NETBLT_CLI_PERF_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* More than the buffers of any transfer that are outstanding at once. */
#define PERF_SLOTS_MAX ((size_t)1 << 16)

/* A region that a transfer walks through again and again, buffer by buffer. It is larger than any cache, since data of
 * real programs comes from elsewhere. */
typedef struct perf_memory {
    uint8_t *bytes;
    size_t size;
    size_t slot_bytes; /* one buffer */
    size_t slots;
    bool filled; /* every page is there */
    bool shared; /* `bytes` belong to another region */
    /* A receiver's slots: those from `fresh` on were never used; then the free ones in the order in which they became
     * so: the one used longest ago comes first. */
    size_t fresh;
    uint32_t *queue;
    size_t first;
    size_t free;
} perf_memory;

/* Every page is there and filled with noise before it answers. False when memory is short. */
bool perf_memory_new(perf_memory *memory, size_t size);
/* Addresses only: a page becomes memory when it is written. False when the addresses are short. */
bool perf_memory_reserve(perf_memory *memory, size_t size);
/* For a sender, which only reads: the bytes of `owner`, which stays longer. */
void perf_memory_share(perf_memory *memory, const perf_memory *owner);
void perf_memory_free(perf_memory *memory);

/* Cuts it into buffers, at most PERF_SLOTS_MAX. False when not even one fits or memory is short. */
bool perf_memory_cut(perf_memory *memory, size_t slot_bytes);
/* A sender's buffer `index`. */
const uint8_t *perf_memory_buffer(const perf_memory *memory, uint64_t index);
/* A receiver's next buffer; NULL when all are in use. */
uint8_t *perf_memory_take(perf_memory *memory);
void perf_memory_give_back(perf_memory *memory, const uint8_t *buffer);

#endif
