/* SPDX-License-Identifier: BSD-2-Clause */
/* The held list: what the receiver of a tree transfer has already (docs/tree-transfer.md). */
#ifndef NETBLT_CLI_HELD_H
#define NETBLT_CLI_HELD_H

#include "cli/tree/manifest.h"
#include "cli/tree/piece_hash.h"

typedef struct held_entry {
    uint32_t entry; /* of the manifest; ENTRY_FILE */
    bool complete;
    subtree *subtrees; /* unless complete; ascending */
    uint32_t subtree_count;
} held_entry;

typedef struct held_list {
    held_entry *entries; /* ascending */
    uint32_t count;
    uint8_t *encoded;
    uint64_t encoded_bytes;
    uint8_t id[8]; /* the first bytes of the BLAKE3 of `encoded`; zeros when nothing is held */
} held_list;

/* NULL when memory is short. */
held_list *held_new(void);
void held_free(held_list *held); /* NULL is allowed */
/* Ascending. 0, or an errno value. Copies the subtrees. */
int held_add(held_list *held, const held_entry *entry);
/* Fills encoded and id. 0, or an errno value. */
int held_seal(held_list *held);
/* `bytes` come from a peer and may be anything. NULL with *failure. */
held_list *held_decode(const uint8_t *bytes, uint64_t length, const manifest *all, netblt_failure *failure);

#endif
