/* SPDX-License-Identifier: BSD-2-Clause */
/* A tree_store, for its parts. */
#ifndef NETBLT_CLI_TREE_STORE_STATE_H
#define NETBLT_CLI_TREE_STORE_STATE_H

#include <pthread.h>

#include "cli/tree/layout.h"
#include "cli/tree/tree_content.h"
#include "cli/tree/tree_early.h"
#include "cli/tree/tree_pending.h"
#include "cli/tree/tree_store_types.h"

struct tree_store {
    int dir; /* an O_PATH descriptor */
    char *target;
    tree_store_how how;
    tree_place place;
    int partial; /* the partial directory; -1: not opened yet */

    manifest *all; /* with `content`, or NULL as that */
    tree_content *content;
    held_list *held; /* the newest; NULL: none */
    bool is_stale;   /* `content` may not be what is on disk any more */

    /* The part that comes. */
    bool begun;   /* its header and manifest have come */
    bool follows; /* it may go on where the last one ended */
    tree_header header;
    bool has_header;
    uint64_t data_start; /* in the part: where the content begins */
    uint64_t received;   /* bytes of the part */
    uint64_t end_offset; /* in the content: where the last part ended */
    layout *plan;
    tree_early early;
    tree_pending pending;
    size_t pending_claimed; /* bytes, by tree_store_how.claim_pieces */
    atomic_bool cancelled;

    enum tree_state state;
    /* What other threads see. */
    pthread_mutex_t mutex;
    enum tree_state shown_state;
    const manifest *shown_manifest;
    const held_list *shown_held;
    tree_progress shown_progress;
    uint64_t shown_offset;
    bool shown_content;
};

#endif
