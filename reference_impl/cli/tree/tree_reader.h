/* SPDX-License-Identifier: BSD-2-Clause */
/* The data of a step of a tree transfer, as the sender makes them: header, manifest, content with hashes. */
#ifndef NETBLT_CLI_TREE_READER_H
#define NETBLT_CLI_TREE_READER_H

#include "cli/tree/layout.h"
#include "cli/tree/tree_files.h"
#include "cli/tree/tree_header.h"
#include "cli/tree/tree_sums.h"

typedef struct tree_reader tree_reader;

typedef struct tree_reader_args {
    const tree_files *files;
    const manifest *all;
    const held_list *held; /* NULL: nothing is held */
    enum tree_sum sum;
    /* What earlier parts have hashed, of the same manifest and kind. NULL: nothing; a part that begins in the middle of
     * a file then reads what lies before for the file's sum. */
    tree_sums *sums;
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
 * event loop's thread. -1 with *failure: a file cannot be read, became shorter, or changed: its size or modification
 * time is not that of the manifest when it is opened or when its last piece was read. Such a file's sum is not sent, so
 * that no receiver takes it for complete. */
int64_t tree_reader_read(tree_reader *from, uint8_t *to, size_t wanted, netblt_failure *failure);
/* From another thread: tree_reader_read() is to fail soon, whatever there is to be hashed. */
void tree_reader_stop(tree_reader *from);
/* The sum of a file that was read to its end: tree_sums_get(). */
bool tree_reader_sum(const tree_reader *from, uint32_t entry, uint8_t sum[PIECE_HASH_BYTES]);

#endif
