/* SPDX-License-Identifier: BSD-2-Clause */
/* Pieces with their hashes, and file sums, that come in several buffers: collected until they are whole. */
#ifndef NETBLT_CLI_TREE_PENDING_H
#define NETBLT_CLI_TREE_PENDING_H

#include "cli/tree/layout.h"

/* A peer could begin many and complete none. */
#define PENDING_MOST_BYTES ((size_t)128 << 20)

typedef struct pending_unit {
    struct pending_unit *next;
    uint32_t entry;
    bool is_sum;
    uint64_t piece;
    size_t length;   /* of the piece's bytes; its hash follows. 0: a sum */
    size_t received; /* of both */
    uint8_t bytes[];
} pending_unit;

/* All zero is an empty one. */
typedef struct tree_pending {
    pending_unit *first;
    size_t bytes;
} tree_pending;

/* Takes `length` bytes of a run of the layout; `piece_bytes` is the length of the piece that the run belongs to. 0, or
 * an errno value: ENOMEM, EOVERFLOW. *whole, unless NULL, is a unit that became whole, which the caller frees. */
int tree_pending_take(tree_pending *pending, const layout_run *run, size_t piece_bytes, const uint8_t *bytes,
                      size_t length, pending_unit **whole);
void tree_pending_clear(tree_pending *pending);

#endif
