/* SPDX-License-Identifier: BSD-2-Clause */
/* The default allocator of an endpoint: malloc, realloc and free. */
#include "base/allocator.h"

#include <stdlib.h>
#include <string.h>

static void *default_allocate(size_t bytes, void *context)
{
    (void)context;
    return malloc(bytes);
}

static void *default_reallocate(void *block, size_t bytes, void *context)
{
    (void)context;
    return realloc(block, bytes);
}

static void default_release(void *block, void *context)
{
    (void)context;
    free(block);
}

const netblt_allocator nb_allocator_default = {
    .allocate = default_allocate, .reallocate = default_reallocate, .release = default_release};

void *nb_allocate_zeroed(const netblt_allocator *allocator, size_t bytes)
{
    void *block = nb_allocate(allocator, bytes);
    return block == NULL ? NULL : memset(block, 0, bytes);
}
