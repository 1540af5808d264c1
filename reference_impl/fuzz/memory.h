/* SPDX-License-Identifier: BSD-2-Clause */
/* An allocator that runs short when a fuzz target wants it to. */
#ifndef NETBLT_FUZZ_MEMORY_H
#define NETBLT_FUZZ_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

/* Of the core's next requests `passes` are served, and then `failures` are not. 0 failures: memory is there again. */
void fuzz_memory_fails(unsigned passes, unsigned failures);

/* Memory for the fuzz target itself; never NULL. */
void *fuzz_malloc(size_t bytes);
void *fuzz_calloc(size_t items, size_t bytes);
void *fuzz_realloc(void *block, size_t bytes);

#endif
