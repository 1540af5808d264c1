/* SPDX-License-Identifier: BSD-2-Clause */
/* BLAKE3 of a file by pieces, in any order: chaining values of subtrees, and the file's sum from them. */
#ifndef NETBLT_CLI_PIECE_HASH_H
#define NETBLT_CLI_PIECE_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PIECE_HASH_BYTES 32

/* BLAKE3 of `length` bytes, for what is no file: manifests, held lists, headers. */
void blake3_of(const void *bytes, size_t length, uint8_t hash[PIECE_HASH_BYTES]);

/* The chaining value of piece `index` with `length` bytes, 1 to PIECE_BYTES; fewer than PIECE_BYTES only for the last
 * piece of a file. `only`: the file has no other piece, and the value is its sum. */
void piece_hash(const uint8_t *bytes, size_t length, uint64_t index, bool only, uint8_t hash[PIECE_HASH_BYTES]);
/* The chaining value of two neighbouring subtrees of one level, or of the last two of a file. `root`: they are the
 * whole file, and the value is its sum. */
void piece_hash_join(const uint8_t left[PIECE_HASH_BYTES], const uint8_t right[PIECE_HASH_BYTES], bool root,
                     uint8_t hash[PIECE_HASH_BYTES]);

/* A file's hashes as they become known, in any order, joined as far as possible, so that a file that is complete up to
 * some place takes memory for a few values only. */
typedef struct piece_tree piece_tree;

/* A subtree of which everything is known: pieces index << level and the (1 << level) - 1 that follow. */
typedef struct subtree {
    uint8_t level;
    uint64_t index;
    uint8_t hash[PIECE_HASH_BYTES];
} subtree;

/* For a file of `size` bytes. NULL when memory is short. */
piece_tree *piece_tree_new(uint64_t size);
void piece_tree_free(piece_tree *tree); /* NULL is allowed */
/* 0, or an errno value: ENOMEM; EEXIST when a piece of it is known already; EINVAL when it is outside of the file or is
 * the whole file of several pieces (whose sum is made in another way). */
int piece_tree_add(piece_tree *tree, const subtree *known);
bool piece_tree_has(const piece_tree *tree, uint64_t piece);
/* The first piece from `piece` on that is not known; the number of pieces when all are. */
uint64_t piece_tree_next_unknown(const piece_tree *tree, uint64_t piece);
/* The first piece from `piece` on that is known; the number of pieces when none is. */
uint64_t piece_tree_next_known(const piece_tree *tree, uint64_t piece);
size_t piece_tree_count(const piece_tree *tree);        /* of known subtrees that are not joined */
const subtree *piece_tree_list(const piece_tree *tree); /* ascending */
/* All pieces are known: the file's sum. BLAKE3 of no bytes for an empty file. */
bool piece_tree_sum(const piece_tree *tree, uint8_t sum[PIECE_HASH_BYTES]);

#endif
