/* SPDX-License-Identifier: BSD-2-Clause */
/* Where the bytes of a tree transfer's content belong: both ends compute it from manifest and held list. */
#ifndef NETBLT_CLI_LAYOUT_H
#define NETBLT_CLI_LAYOUT_H

#include "cli/tree/held.h"

enum layout_kind {
    LAYOUT_BYTES,      /* of a piece */
    LAYOUT_PIECE_HASH, /* of that piece */
    LAYOUT_FILE_SUM,   /* the only run of a file that is HELD_COMPARE: then from the file's own bytes */
};

/* A run of content bytes of one kind. */
typedef struct layout_run {
    enum layout_kind kind;
    uint32_t entry;       /* of the manifest */
    uint64_t piece;       /* LAYOUT_BYTES, LAYOUT_PIECE_HASH */
    uint64_t file_offset; /* LAYOUT_BYTES: of the first byte of the run */
    uint32_t skip;        /* bytes of the piece, hash or sum that come before the run */
    uint32_t length;      /* bytes from here to the end of the piece, hash or sum */
} layout_run;

typedef struct layout layout;

/* `held` may be NULL: nothing is held. Keeps both, which must live on. NULL when memory is short. */
layout *layout_new(const manifest *all, const held_list *held);
void layout_free(layout *plan); /* NULL is allowed */
/* Bytes of the content. */
uint64_t layout_bytes(const layout *plan);
/* Bytes of files in it, hashes not counted: what people want to know. */
uint64_t layout_file_bytes(const layout *plan);
/* What lies at `offset`, which is less than layout_bytes(). O(log n). */
layout_run layout_at(const layout *plan, uint64_t offset);

#endif
