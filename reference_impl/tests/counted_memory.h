/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NETBLT_TESTS_COUNTED_MEMORY_H
#define NETBLT_TESTS_COUNTED_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

/* The C library's allocator, counted, and able to run out: a program is linked with counted_memory.c and --wrap=malloc,
 * calloc, realloc and free, so that whatever anybody in it allocates comes by here. */

enum { COUNTED_HEAD_BYTES = 16 }; /* in front of each block, and counted: its size */

struct counted_memory {
    size_t now_bytes, peak_bytes, blocks;
    long fail_after; /* allocations until one fails; -1 = none does */
    bool failed;     /* one has; for the test to clear */
};

extern struct counted_memory counted;

#endif
