/* SPDX-License-Identifier: BSD-2-Clause */
/* Pieces and sums of a tree's files as they come: verified, stored, journalled. */
#ifndef NETBLT_CLI_TREE_TAKE_H
#define NETBLT_CLI_TREE_TAKE_H

#include "cli/tree/tree_content.h"

/* A piece with the sender's hash, or a file's sum. Each may come more than once. 0, or -1 with *failure. */
int tree_take_piece(tree_content *content, uint32_t entry, uint64_t piece, const uint8_t *bytes, size_t length,
                    const uint8_t hash[PIECE_HASH_BYTES], netblt_failure *failure);
int tree_take_sum(tree_content *content, uint32_t entry, const uint8_t sum[PIECE_HASH_BYTES], netblt_failure *failure);

#endif
