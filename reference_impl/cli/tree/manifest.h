/* SPDX-License-Identifier: BSD-2-Clause */
/* The manifest of a tree transfer: its files, directories and links, encoded and decoded (docs/tree-transfer.md). */
#ifndef NETBLT_CLI_MANIFEST_H
#define NETBLT_CLI_MANIFEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/tree/piece.h"
#include "io/failure.h"

#define MANIFEST_ID_BYTES 32
/* Of an encoded manifest: bounds what a peer can make a receiver keep. */
#define MANIFEST_MAX_BYTES (UINT64_C(256) << 20)

enum entry_kind {
    ENTRY_FILE = 1,
    ENTRY_DIRECTORY = 2,
    ENTRY_LINK = 3,
};

/* Pieces of a file that the sender does not store: they read as zeros. */
typedef struct hole {
    uint64_t first;
    uint64_t count;
} hole;

typedef struct manifest_entry {
    enum entry_kind kind;
    uint16_t mode; /* the low 12 bits of st_mode */
    int64_t mtime_s;
    uint32_t mtime_ns;
    char *path;    /* relative, NUL-terminated */
    char *target;  /* of a link; else NULL */
    uint64_t size; /* of a file; else 0 */
    hole *holes;   /* ascending, not adjacent, inside the file */
    uint32_t hole_count;
} manifest_entry;

typedef struct manifest {
    manifest_entry *entries;
    uint32_t count;
    size_t capacity;               /* of `entries` */
    struct manifest_chunk *memory; /* of strings and holes */
    uint8_t *encoded;              /* after manifest_seal() or manifest_decode() */
    uint64_t encoded_bytes;
    uint8_t id[MANIFEST_ID_BYTES]; /* BLAKE3 of `encoded` */
} manifest;

/* NULL when memory is short. */
manifest *manifest_new(void);
/* NULL is allowed. */
void manifest_free(manifest *all);
/* Adds a copy of *entry (strings and holes are copied), in any order. 0, or an errno value: ENOMEM. */
int manifest_add(manifest *all, const manifest_entry *entry);
/* Nothing more is added: brings the entries into their order, checks the rules of docs/tree-transfer.md, fills encoded
 * and id. 0, or -1 with *failure. */
int manifest_seal(manifest *all, netblt_failure *failure);
/* Takes a copy of `bytes`, which come from a peer and may be anything. NULL with *failure, which names the entry. */
manifest *manifest_decode(const uint8_t *bytes, uint64_t length, netblt_failure *failure);
/* manifest_check.c: the rules of docs/tree-transfer.md for entries that are in their order. 0, or -1 with *failure,
 * which names the entry. */
int manifest_check(const manifest *all, netblt_failure *failure);
/* Bytes of a file that lie in no hole: what there is to send of it. 0 for what is no file. */
uint64_t manifest_data_bytes(const manifest_entry *entry);
/* NULL when the path may be used, else why not. */
const char *manifest_check_path(const char *path);
/* Of two paths: below, equal to or above 0 when `one` comes before, is, or comes after `other` in a manifest. */
int manifest_compare_paths(const char *one, const char *other);

#endif
