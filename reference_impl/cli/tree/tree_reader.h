/* SPDX-License-Identifier: BSD-2-Clause */
/* The data of a step of a tree transfer, as the sender makes them: header, manifest, content with hashes. */
#ifndef NETBLT_CLI_TREE_READER_H
#define NETBLT_CLI_TREE_READER_H

#include "cli/tree/layout.h"
#include "cli/tree/tree_files.h"
#include "cli/tree/tree_header.h"

typedef struct tree_reader tree_reader;

typedef struct tree_reader_args {
    const tree_files *files;
    const manifest *all;
    const held_list *held; /* NULL: nothing is held */
    enum tree_sum sum;
    bool with_manifest;
    uint64_t offset;     /* in the content */
    uint64_t most_bytes; /* of the whole part with its header; the content is cut there */
} tree_reader_args;

/* Everything in *args lives on. NULL with *failure. */
tree_reader *tree_reader_new(const tree_reader_args *args, netblt_failure *failure);
void tree_reader_free(tree_reader *from); /* NULL is allowed */
/* Bytes of the part, known from the beginning. */
uint64_t tree_reader_bytes(const tree_reader *from);
/* Where in the content the next part begins; layout_bytes() when this is the last. */
uint64_t tree_reader_end_offset(const tree_reader *from);
/* The entry of the last byte that was read; before the first file byte the first file. */
uint32_t tree_reader_entry(const tree_reader *from);
/* Fills `to` with the next `wanted` bytes, or with what is left: 0 only at the end. Blocks for the disk: not for the
 * event loop's thread. -1 with *failure: a file cannot be read, became shorter, or changed while it was read (size,
 * modification time or change time are not those of the manifest's walk before or after its last piece was read). */
int64_t tree_reader_read(tree_reader *from, uint8_t *to, size_t wanted, netblt_failure *failure);
/* The sum of a file that was read to its end, as far as it is known (docs/tree-transfer.md). False: not known. */
bool tree_reader_sum(const tree_reader *from, uint32_t entry, uint8_t sum[PIECE_HASH_BYTES]);

#endif
