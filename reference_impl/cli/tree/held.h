/* SPDX-License-Identifier: BSD-2-Clause */
/* The held list: what the receiver of a tree transfer has already (docs/tree-transfer.md). */
#ifndef NETBLT_CLI_HELD_H
#define NETBLT_CLI_HELD_H

#include "cli/tree/manifest.h"
#include "cli/tree/piece_hash.h"

#define HELD_ID_BYTES 8
/* Of an encoded held list: bounds what a peer can make a sender keep. */
#define HELD_MAX_BYTES (UINT64_C(256) << 20)

enum held_kind {
    HELD_SUBTREES = 0,
    HELD_COMPLETE = 1,
    HELD_COMPARE = 2, /* the receiver has a file whose sum it wants to compare: only the file sum is sent for it */
};

typedef struct held_entry {
    uint32_t entry; /* of the manifest: a file that is not empty */
    enum held_kind kind;
    subtree *subtrees; /* HELD_SUBTREES: at least one, ascending; else NULL */
    uint32_t subtree_count;
} held_entry;

typedef struct held_list {
    held_entry *entries; /* ascending */
    uint32_t count;
    size_t capacity; /* of `entries` */
    uint8_t *encoded;
    uint64_t encoded_bytes;
    uint8_t id[HELD_ID_BYTES]; /* the first bytes of the BLAKE3 of `encoded`; zeros when nothing is held */
} held_list;

/* NULL when memory is short. */
held_list *held_new(void);
void held_free(held_list *held); /* NULL is allowed */
/* Ascending. 0, or an errno value: ENOMEM. Copies the subtrees. */
int held_add(held_list *held, const held_entry *entry);
/* Fills encoded and id. 0, or an errno value: ENOMEM; EFBIG when it has more than HELD_MAX_BYTES. */
int held_seal(held_list *held);
/* `bytes` come from a peer and may be anything. NULL with *failure. */
held_list *held_decode(const uint8_t *bytes, uint64_t length, const manifest *all, netblt_failure *failure);

#endif
