/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory from the allocator of an endpoint (netblt_config.allocator). No other file of the core may allocate:
 * library/check_abi.py finds any call of malloc elsewhere. */
#ifndef NETBLT_CORE_ALLOCATOR_H
#define NETBLT_CORE_ALLOCATOR_H

#include <netblt/types.h>
#include <stddef.h>

/* malloc, realloc and free of the C library. */
extern const netblt_allocator nb_allocator_default;

static inline void *nb_allocate(const netblt_allocator *allocator, size_t bytes)
{
    return allocator->allocate(bytes, allocator->context);
}

/* The same, filled with zero. */
void *nb_allocate_zeroed(const netblt_allocator *allocator, size_t bytes);

static inline void *nb_reallocate(const netblt_allocator *allocator, void *block, size_t bytes)
{
    return allocator->reallocate(block, bytes, allocator->context);
}

/* NULL is allowed. */
static inline void nb_release(const netblt_allocator *allocator, void *block)
{
    allocator->release(block, allocator->context);
}

#endif
