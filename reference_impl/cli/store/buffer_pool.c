/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory for buffers under way: see buffer_pool.h. */
#include "cli/store/buffer_pool.h"

#include <assert.h>
#include <stdlib.h>

pool_buffer *buffer_pool_find(const uint8_t *bytes)
{
    return (pool_buffer *)(uintptr_t)(bytes - offsetof(pool_buffer, bytes));
}

uint8_t *buffer_pool_take(buffer_pool *pool, size_t bytes)
{
    pool_buffer *buffer = SLIST_FIRST(&pool->idle);
    assert(pool->buffer_bytes == 0 || pool->buffer_bytes == bytes);
    pool->buffer_bytes = bytes;
    if (buffer != NULL) {
        SLIST_REMOVE_HEAD(&pool->idle, of_idle);
    } else {
        buffer = malloc(sizeof *buffer + bytes);
        if (buffer == NULL)
            return NULL;
        SLIST_INSERT_HEAD(&pool->all, buffer, of_all);
    }
    pool->taken++;
    return buffer->bytes;
}

void buffer_pool_give_back(buffer_pool *pool, const uint8_t *bytes)
{
    pool_buffer *buffer;
    if (bytes == NULL)
        return;
    assert(pool->taken > 0);
    pool->taken--;
    buffer = buffer_pool_find(bytes);
    SLIST_INSERT_HEAD(&pool->idle, buffer, of_idle);
}

void buffer_pool_clear(buffer_pool *pool)
{
    pool_buffer *next;
    for (pool_buffer *buffer = SLIST_FIRST(&pool->all); buffer != NULL; buffer = next) {
        next = SLIST_NEXT(buffer, of_all);
        free(buffer);
    }
    *pool = (buffer_pool){0};
}
