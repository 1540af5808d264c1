/* SPDX-License-Identifier: BSD-2-Clause */
/* The journal of a partial directory: which pieces of which files were verified (docs/tree-transfer.md). */
#ifndef NETBLT_CLI_TREE_JOURNAL_H
#define NETBLT_CLI_TREE_JOURNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/tree/piece_hash.h"

/* Names a file's content: made from its path, size and modification time. */
#define TREE_KEY_BYTES 16
typedef struct tree_key {
    uint8_t bytes[TREE_KEY_BYTES];
} tree_key;

typedef struct tree_journal tree_journal;

/* Takes the records of a journal, one by one. */
typedef struct tree_journal_reader {
    /* A subtree of a file was verified. `certain`: it is as it was then, as it was synced or as the host was not
     * started since; otherwise the disk may hold something else. */
    void (*known)(void *context, const tree_key *key, const subtree *known, bool certain);
    /* Earlier records of a file no longer count. */
    void (*forget)(void *context, const tree_key *key);
    void *context;
} tree_journal_reader;

/* Reads the journal in the directory `dir`, up to the first damaged record. 0, also when there is none, or an errno
 * value. */
int tree_journal_read(int dir, const tree_journal_reader *to);

/* Begins a new journal in the directory `dir`, beside the old one. NULL with errno. */
tree_journal *tree_journal_begin(int dir);
void tree_journal_free(tree_journal *journal); /* NULL is allowed */
/* The new journal takes the old one's place, in one step. All that was added is on disk already, as will be the
 * journal. 0, or an errno value. */
int tree_journal_replace(tree_journal *journal);
/* Adds to what the next flush writes. 0, or an errno value. */
int tree_journal_add(tree_journal *journal, const tree_key *key, const subtree *known);
int tree_journal_forget(tree_journal *journal, const tree_key *key);
/* All that was added survives the end of the process. 0, or an errno value; after a failure nothing can be added. */
int tree_journal_flush(tree_journal *journal);
/* Bytes of the journal so far, for tree_journal_mark(). */
uint64_t tree_journal_length(const tree_journal *journal);
/* Everything that the first `length` bytes describe is on disk: records that, and syncs the journal. May be called by
 * another thread than the one that adds. 0, or an errno value. */
int tree_journal_mark(tree_journal *journal, uint64_t length);

/* Reads which boot of the host this is; before the process is confined, as it reads a file in /proc. */
void tree_journal_prepare(void);

#endif
