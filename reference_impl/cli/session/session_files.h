/* SPDX-License-Identifier: BSD-2-Clause */
/* What `netblt send` sends and `netblt recv` stores, over all transfers of one session. */
#ifndef NETBLT_CLI_SESSION_FILES_H
#define NETBLT_CLI_SESSION_FILES_H

#include "cli/options/options.h"
#include "cli/process/sandbox.h"
#include "cli/session/dest.h"
#include "cli/session/step_data.h"
#include "cli/tree/layout.h"
#include "cli/tree/tree_files.h"
#include "cli/tree/tree_store.h"
#include "cli/tree/tree_sums.h"

/* The same files in two ways: as one file or stream, for any peer, and as those of a tree transfer, for a netblt that
 * can do it. Either may be missing. */
typedef struct session_files {
    const options *given;
    int wake_fd;       /* of the station */
    const char *name;  /* for people */
    char summary[400]; /* memory of `name` */
    int *reached;      /* O_PATH descriptors of what will still be opened */
    size_t reached_count;
    bool is_one; /* a peer that knows nothing of tree transfers can send or take it */

    /* sender */
    source *one;      /* the file or stream; NULL: several paths, a directory, a stream that was sent */
    tree_files *tree; /* NULL: a stream, or a file that only root's rights opened */
    manifest *all;
    netblt_time walked_at;
    tree_sums *sums; /* of its files, as far as they were sent */
    held_list *held; /* what the receiver has said; NULL: nothing is held, as far as we know */
    layout *plan;    /* of these two */

    /* receiver */
    dest to;
    sink *place; /* the file or stream that is to come, before a transfer has it; NULL: a directory */
    tree_store *store;
    bool may_hold; /* something of it may be there already */
} session_files;

/* Opens what the command line names, and walks through what is sent. 0, or -1 with *failure. */
int session_files_open(session_files *files, const options *given, int wake_fd, netblt_failure *failure);
void session_files_close(session_files *files);
sandbox_files session_files_reached(const session_files *files);

/* Whether a tree transfer is possible. */
bool session_files_are_tree(const session_files *files);
/* Whether a transfer of the one file or stream can be tried once more. */
bool session_files_can_repeat(const session_files *files);
/* Bytes of the one file; 0: not known. */
uint64_t session_files_size(const session_files *files);

/* ---- sender */
/* For step 1, in which nothing is held: walks again unless that was just done. Blocks for the disk. 0, or -1 with
 * *failure. */
int session_files_refresh(session_files *files, netblt_failure *failure);
/* Takes a held list that came, from malloc(). 0, or -1 with *failure. */
int session_files_take_held(session_files *files, uint8_t *encoded, uint64_t length, netblt_failure *failure);
/* For a step of this kind with this held list. NULL: there is a plan for it; else with what to end the step. */
const char *session_files_object(const session_files *files, const step_name *what);
/* Arguments of source_open_tree() for such a step; `files` lives on. */
tree_reader_args session_files_reading(const session_files *files, const step_name *what);
/* The one file for a transfer; again only of a file. NULL with *failure. */
source *session_files_source(session_files *files, netblt_failure *failure);

/* ---- receiver */
/* The one file or stream for a transfer; again only of a file. NULL with *failure. */
sink *session_files_sink(session_files *files, netblt_failure *failure);
/* A source of the held list that belongs to the manifest. NULL with the reason to end the step with, or with
 * *failure. */
source *session_files_held(session_files *files, const step_name *what, const char **reason, netblt_failure *failure);

#endif
