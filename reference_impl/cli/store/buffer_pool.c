/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/store/buffer_pool.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>

static bool enlarge(uint8_t ***array, size_t capacity)
{
    uint8_t **larger = realloc(*array, capacity * sizeof *larger);
    if (larger != NULL)
        *array = larger;
    return larger != NULL;
}

static bool make_room(buffer_pool *pool)
{
    size_t capacity = pool->capacity == 0 ? 16 : pool->capacity * 2;
    if (pool->count < pool->capacity)
        return true;
    if (!enlarge(&pool->all, capacity) || !enlarge(&pool->idle, capacity))
        return false;
    pool->capacity = capacity;
    return true;
}

uint8_t *buffer_pool_take(buffer_pool *pool, size_t bytes)
{
    uint8_t *buffer;
    assert(pool->buffer_bytes == 0 || pool->buffer_bytes == bytes);
    pool->buffer_bytes = bytes;
    if (pool->idle_count > 0) {
        pool->taken++;
        return pool->idle[--pool->idle_count];
    }
    buffer = make_room(pool) ? malloc(bytes) : NULL;
    if (buffer != NULL) {
        pool->all[pool->count++] = buffer;
        pool->taken++;
    }
    return buffer;
}

void buffer_pool_give_back(buffer_pool *pool, uint8_t *buffer)
{
    if (buffer == NULL)
        return;
    assert(pool->taken > 0 && pool->idle_count < pool->count);
    pool->taken--;
    pool->idle[pool->idle_count++] = buffer;
}

void buffer_pool_clear(buffer_pool *pool)
{
    for (size_t i = 0; i < pool->count; i++)
        free(pool->all[i]);
    free(pool->all);
    free(pool->idle);
    *pool = (buffer_pool){0};
}
