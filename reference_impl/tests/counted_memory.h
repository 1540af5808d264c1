/* SPDX-License-Identifier: BSD-2-Clause */
/* An allocator for endpoints under test (netblt_config.allocator): counts what they take, and can run out. That the
 * core allocates nothing in another way is what library/check_abi.py checks. */
#ifndef NETBLT_TESTS_COUNTED_MEMORY_H
#define NETBLT_TESTS_COUNTED_MEMORY_H

#include <netblt/types.h>
#include <stdbool.h>
#include <stddef.h>

enum { COUNTED_HEAD_BYTES = 16 }; /* in front of each block, and counted: its size */

struct counted_memory {
    size_t now_bytes, peak_bytes, blocks;
    unsigned long calls; /* for memory */
    long fail_after;     /* allocations until one fails; -1 = none does */
    bool failed;         /* one has; for the test to clear */
};

extern struct counted_memory counted;
extern const netblt_allocator counted_allocator;

#endif
