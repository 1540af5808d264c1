/* SPDX-License-Identifier: BSD-2-Clause */
/* Syncs incomplete files and marks it in the journal, in a thread of its own, so that bytes that come need not wait. */
#ifndef NETBLT_CLI_TREE_SYNC_H
#define NETBLT_CLI_TREE_SYNC_H

#include "cli/tree/tree_journal.h"

typedef struct tree_sync tree_sync;

/* Files that are synced one by one; of more, the whole file system is. */
#define SYNC_FILES_MOST 16

/* What is to be on disk before the journal records it. */
typedef struct tree_sync_job {
    int dir;                  /* the partial directory, which is synced as well; the job takes it over */
    int fds[SYNC_FILES_MOST]; /* the same */
    size_t count;
    bool whole; /* sync the file system: there are more files */
    tree_journal *journal;
    uint64_t journal_length; /* for tree_journal_mark() */
} tree_sync_job;

/* NULL when memory is short. The thread starts with the first job. */
tree_sync *tree_sync_new(void);
void tree_sync_free(tree_sync *sync); /* waits for the job that runs; NULL is allowed */
bool tree_sync_is_busy(tree_sync *sync);
/* While none runs: begins a job. */
void tree_sync_begin(tree_sync *sync, const tree_sync_job *job);
/* Whether a job has ended since the last call, and how: 0, or an errno value. */
bool tree_sync_take_result(tree_sync *sync, int *error);
/* Waits for the job that runs, if any. */
void tree_sync_wait(tree_sync *sync);

#endif
