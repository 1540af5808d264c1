/* SPDX-License-Identifier: BSD-2-Clause */
/* The files of one manifest as they are stored: what is known of each, and what is open. */
#ifndef NETBLT_CLI_TREE_CONTENT_H
#define NETBLT_CLI_TREE_CONTENT_H

#include <stdatomic.h>

#include "cli/tree/held.h"
#include "cli/tree/tree_header.h"
#include "cli/tree/tree_partial.h"
#include "cli/tree/tree_place.h"
#include "cli/tree/tree_sync.h"

/* Incomplete files that are kept open. */
#define CONTENT_OPEN_FILES 8

enum content_stage {
    CONTENT_WANTED,  /* pieces or the sum are missing */
    CONTENT_COMPARE, /* a file is there, and the sender's sum is awaited */
    CONTENT_CHECKED, /* all is in the partial directory, and agrees with the sum */
    CONTENT_STORED,  /* has its final name; or needs no content: links, directories, empty files */
};

typedef struct content_entry {
    enum content_stage stage;
    bool has_sum;       /* tree_content.sums has the sender's */
    bool was_there;     /* CONTENT_STORED before this process began */
    bool differs;       /* was compared, and is another file */
    piece_tree *pieces; /* CONTENT_WANTED: those that were verified; NULL: none */
} content_entry;

typedef struct content_file {
    uint32_t entry;
    int fd; /* -1: none */
    uint64_t used_at;
} content_file;

typedef struct tree_content {
    const manifest *all;
    tree_place *place;
    int dir; /* the partial directory */
    bool checksum;
    enum tree_sum sum; /* what the sums of the sender are */
    const atomic_bool *cancelled;
    content_entry *entries;
    uint8_t (*sums)[PIECE_HASH_BYTES];
    tree_journal *journal;
    tree_sync *sync;

    content_file open[CONTENT_OPEN_FILES];
    uint64_t uses;
    /* Written since the last sync was begun. */
    uint32_t dirty[SYNC_FILES_MOST];
    size_t dirty_count;
    bool has_more_dirty;
    uint64_t dirty_bytes;
    int64_t synced_at_us;
    /* CONTENT_CHECKED, in the order in which they became so. The first `covered` are in the sync that runs. */
    uint32_t *unnamed;
    size_t unnamed_count;
    size_t unnamed_capacity;
    size_t covered;

    uint32_t files;
    uint32_t files_done;
    uint64_t bytes;
    uint64_t bytes_done;
    uint64_t bytes_held;
    uint32_t last_entry;
} tree_content;

/* Names that can be given are not given any more: tree_pace_keep() comes before. NULL is allowed. */
void tree_content_free(tree_content *content);

/* What is held now: a new list, or NULL with *failure. */
held_list *tree_content_held(const tree_content *content, netblt_failure *failure);

/* Whether all files are complete. */
bool tree_content_is_complete(const tree_content *content);

void tree_content_key(const manifest_entry *entry, tree_key *key);
/* Opens the incomplete file of an entry; its length is the final one. A descriptor of the content, or -1 with errno. */
int tree_content_open_file(tree_content *content, uint32_t entry);
/* Closes it, if it is open. 0, or an errno value. */
int tree_content_close_file(tree_content *content, uint32_t entry);
/* "cannot store PATH: why", with the final path. -1. */
int tree_content_fail(const tree_content *content, uint32_t entry, const char *why, netblt_failure *failure);
int64_t tree_content_now_us(void);
/* Bytes of a piece. */
size_t tree_content_piece_bytes(const manifest_entry *entry, uint64_t piece);

#endif
