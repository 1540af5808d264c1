/* SPDX-License-Identifier: BSD-2-Clause */
/* A bound of the memory for manifests and held lists of all peers together. */
#ifndef NETBLT_CLI_LIST_MEMORY_H
#define NETBLT_CLI_LIST_MEMORY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* One transfer may take a quarter of what the others have left, so that there is always some left for the next, and
 * never less than LIST_MEMORY_LEAST_BYTES. The threads of all transfers use it. */
#define LIST_MEMORY_SHARE 4
#define LIST_MEMORY_LEAST_BYTES (UINT64_C(1) << 20)

typedef struct list_memory {
    uint64_t most_bytes;
    atomic_uint_fast64_t used_bytes;
} list_memory;

/* What one transfer has taken; only one thread at a time uses it. */
typedef struct list_claim {
    list_memory *memory;
    uint64_t bytes;
} list_claim;

/* So much more for this transfer. False: that would be too much, and nothing is taken. */
bool list_claim_more(list_claim *claim, uint64_t bytes);
/* All that it has taken. */
void list_claim_return(list_claim *claim);

#endif
