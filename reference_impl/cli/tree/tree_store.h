/* SPDX-License-Identifier: BSD-2-Clause */
/* What the receiver of a tree transfer keeps: the partial directory with its journal, and files that become complete. */
#ifndef NETBLT_CLI_TREE_STORE_H
#define NETBLT_CLI_TREE_STORE_H

#include "cli/tree/layout.h"
#include "cli/tree/tree_header.h"

/* The directory .netblt-partial-ID lies in the target's directory; ID is from the target's name, so that the same
 * command finds it again. It is locked (flock) by the process that uses it. It holds:
 *   manifest   as received, written once and renamed into place
 *   journal    the pieces that were verified, appended as they come (tree_journal.h)
 *   N          the file of entry N while it is incomplete
 * A file that is complete and verified gets its mode and time and is renamed to its place: at any moment, and after
 * kill -9 at any system call, a final name holds the old file or the new one. When all is complete the partial
 * directory is removed. The journal names the boot (boot_id): after a crash of the host only what was synced counts. */
typedef struct tree_store tree_store;

typedef struct tree_store_how {
    bool replace;   /* plain files and links that exist give way, unless they are what the manifest says */
    bool sync;      /* all is on disk before it counts as stored */
    bool checksum;  /* compare files that exist by content, not by size and time */
    bool drop_special_bits; /* listen: set-user-ID, set-group-ID and sticky bits of a peer are dropped */
    /* netblt listen, whose peers may be anybody; NULL otherwise. Both are called by tree_store_write() and
     * tree_store_recall(), in their thread, before anything of the manifest is used; a reason, which the peer may see,
     * ends the transfer. */
    const char *(*claim)(void *context, uint64_t manifest_bytes); /* the header has come: may so much be kept? */
    const char *(*check)(void *context, const manifest_entry *entry); /* each entry; NULL: it may be stored */
    void *context;
} tree_store_how;

/* Stores beneath `dir_fd`, which it takes over; `target` is the name there. If the manifest has one top entry it gets
 * the name `target`; if it has several, `target` is made a directory that holds them. `target` NULL: top entries keep
 * their names and lie directly in `dir_fd`. Opens or makes the partial directory. NULL with *failure; another process
 * that stores the same target is an error that says so. */
tree_store *tree_store_open(int dir_fd, const char *target, const tree_store_how *how, netblt_failure *failure);
/* Keeps the partial directory unless everything was stored. NULL is allowed. */
void tree_store_close(tree_store *store);

/* A part begins (step 1, 4 or 5): bytes of it follow by tree_store_write(). */
void tree_store_begin(tree_store *store);
/* Bytes of the part at `offset` from its beginning, in any order, each once. Blocks for the disk. 0, or -1 with
 * *failure: a wrong header, manifest, hash or sum; a full disk. After the header and the manifest have come:
 * tree_store_resumes(). */
int tree_store_write(tree_store *store, uint64_t offset, const uint8_t *bytes, size_t length, netblt_failure *failure);
/* The manifest is known, something of it is held already, and the part that comes was sent as if nothing were: it is to
 * be ended, and the held list to be fetched or sent. tree_store_held() is then filled. */
bool tree_store_resumes(const tree_store *store);
const held_list *tree_store_held(const tree_store *store);
const manifest *tree_store_manifest(const tree_store *store); /* NULL before it is known */
/* A held list is wanted by a process that has not received the manifest itself (it was restarted): reads the partial
 * directory. `id`: the first bytes of the manifest's. 0, or -1 with *failure. */
int tree_store_recall(tree_store *store, const uint8_t id[8], netblt_failure *failure);

/* All bytes of the part were written: verifies that nothing is missing in it. *complete: the whole tree is stored, the
 * directories have their modes and times, the partial directory is gone; else parts follow. 0, or -1 with *failure. */
int tree_store_end(tree_store *store, uint64_t part_bytes, bool *complete, netblt_failure *failure);

/* What people want to know. */
typedef struct tree_progress {
    uint32_t files;      /* of the manifest */
    uint32_t files_done; /* stored, or there already */
    uint64_t bytes;      /* of all files */
    uint64_t bytes_done; /* stored, or there already */
    uint64_t bytes_held; /* of these: there before this process began */
    uint32_t entry;      /* that was written to last */
} tree_progress;
tree_progress tree_store_progress(const tree_store *store);
/* The sum of a complete file. False: not known, because it was there already. */
bool tree_store_sum(const tree_store *store, uint32_t entry, uint8_t sum[PIECE_HASH_BYTES]);

#endif
