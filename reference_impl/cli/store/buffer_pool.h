/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NETBLT_CLI_BUFFER_POOL_H
#define NETBLT_CLI_BUFFER_POOL_H

#include <stddef.h>
#include <stdint.h>

/* Memory for buffers under way: taken as needed, kept for the next one when given back. The core never holds more of
 * them than were negotiated, so the pool stays that small. */
typedef struct buffer_pool {
    size_t buffer_bytes; /* set by the first take */
    size_t taken;
    uint8_t **all;  /* every buffer there is */
    uint8_t **idle; /* those given back */
    size_t count;   /* of `all` */
    size_t idle_count;
    size_t capacity; /* of both arrays */
} buffer_pool;

/* `bytes` must be the same each time. NULL when memory is short. */
uint8_t *buffer_pool_take(buffer_pool *pool, size_t bytes);
/* NULL is allowed. */
void buffer_pool_give_back(buffer_pool *pool, uint8_t *buffer);
/* Frees all buffers, those that were never given back too: nobody may use them any more. */
void buffer_pool_clear(buffer_pool *pool);

#endif
