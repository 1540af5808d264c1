/* SPDX-License-Identifier: BSD-2-Clause */
/* Sums of the files of a tree transfer as a sender learns them, over all of its parts. */
#ifndef NETBLT_CLI_TREE_SUMS_H
#define NETBLT_CLI_TREE_SUMS_H

#include "cli/tree/held.h"
#include "cli/tree/tree_header.h"

/* It keeps the sums of files that were read to their ends, and how far the newest of the others is hashed, so that a
 * part that begins in the middle of a file goes on where the part before it ended. Not for several threads at once. */
typedef struct tree_sums tree_sums;

/* `all` lives on. NULL when memory is short. */
tree_sums *tree_sums_new(const manifest *all, enum tree_sum kind);
void tree_sums_free(tree_sums *sums); /* NULL is allowed */
/* False: not known; the file was not read to its end. */
bool tree_sums_get(const tree_sums *sums, uint32_t entry, uint8_t sum[PIECE_HASH_BYTES]);

/* ---- for the reader */

/* The following is about this file; what was known of another one that is not complete is forgotten. `held` may be
 * NULL: what the receiver holds of it; used for BLAKE3 only. 0, or an errno value. */
int tree_sums_begin(tree_sums *sums, uint32_t entry, const held_entry *held);
/* The next piece that the sum needs; the number of pieces when it needs none. A SHA-256 needs them in their order. */
uint64_t tree_sums_next(const tree_sums *sums);
/* SHA-256: pieces before `piece` must come before it. */
bool tree_sums_needs_before(const tree_sums *sums, uint64_t piece);
/* A piece was read: what is not needed (any more) is ignored. 0, or an errno value. */
int tree_sums_add(tree_sums *sums, uint64_t piece, const uint8_t *bytes, size_t length,
                  const uint8_t hash[PIECE_HASH_BYTES]);
/* No piece is needed any more: *sum is the file's. 0, or an errno value. */
int tree_sums_end(tree_sums *sums, uint8_t sum[PIECE_HASH_BYTES]);

#endif
