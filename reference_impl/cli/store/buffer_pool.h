/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory for buffers under way: taken as needed, kept for the next one when given back. */
#ifndef NETBLT_CLI_BUFFER_POOL_H
#define NETBLT_CLI_BUFFER_POOL_H

#include <stdalign.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

typedef struct pool_buffer {
    SLIST_ENTRY(pool_buffer) of_all;
    SLIST_ENTRY(pool_buffer) of_idle;
    /* These three are for the user of the buffer. */
    STAILQ_ENTRY(pool_buffer) next;
    uint64_t index;
    uint32_t length;
    alignas(max_align_t) uint8_t bytes[];
} pool_buffer;

/* The core never holds more buffers than were negotiated, so the pool stays that small. All zero is an empty one, and
 * a copy takes the place of the original. */
typedef struct buffer_pool {
    size_t buffer_bytes; /* set by the first take */
    size_t taken;
    SLIST_HEAD(, pool_buffer) all;
    SLIST_HEAD(, pool_buffer) idle; /* those given back */
} buffer_pool;

/* The bytes of a buffer; `bytes` must be the same each time. NULL when memory is short. */
uint8_t *buffer_pool_take(buffer_pool *pool, size_t bytes);
/* NULL is allowed. */
void buffer_pool_give_back(buffer_pool *pool, const uint8_t *bytes);
/* The buffer that `bytes` belong to. */
pool_buffer *buffer_pool_find(const uint8_t *bytes);
/* Frees all buffers, those that were never given back too: none may be used any more. */
void buffer_pool_clear(buffer_pool *pool);

#endif
