/* SPDX-License-Identifier: BSD-2-Clause */
/* Options of a tree_store, and the states that it reports. */
#ifndef NETBLT_CLI_TREE_STORE_TYPES_H
#define NETBLT_CLI_TREE_STORE_TYPES_H

#include "cli/tree/manifest.h"

typedef struct tree_store tree_store;

typedef struct tree_store_how {
    bool replace;           /* plain files and links that exist give way, unless they are as in the manifest */
    bool sync;              /* all is on disk before it counts as stored */
    bool checksum;          /* compare files that exist by content, whatever their modification time */
    bool discard;           /* what an interrupted transfer of the same target left is removed, not used */
    bool drop_special_bits; /* listen: set-user-ID, set-group-ID and sticky bits of a peer are dropped */
    /* netblt listen, whose peers may be any host; NULL otherwise. They are called by tree_store_write() and
     * tree_store_recall(), in their thread, the first two before anything of the manifest is used; a reason, which the
     * peer may see, ends the transfer. */
    const char *(*claim)(void *context, uint64_t manifest_bytes);     /* the header has come: may so much be kept? */
    const char *(*check)(void *context, const manifest_entry *entry); /* each entry; NULL: it may be stored */
    const char *(*claim_pieces)(void *context, uint64_t bytes);       /* so much more for pieces that are incomplete */
    void *context;
} tree_store_how;

enum tree_state {
    TREE_RECEIVES, /* a part is coming, or none began yet */
    /* Something is held that the content that comes does not take into account, or a file that was compared differs:
     * the transfer is to be ended with STEP_RESUME and the held list to be fetched or sent. Bytes that still come are
     * ignored. tree_store_held() is filled. */
    TREE_RESUMES,
    /* The content that comes belongs to a manifest that is not here: the transfer is to be ended with STEP_CHANGED.
     * Bytes that still come are ignored. */
    TREE_CHANGED,
    TREE_PART_DONE, /* the content is longer: a part with offset tree_store_next_offset() is to follow */
    /* The whole tree is stored, directories have their modes and times, the partial directory is removed. */
    TREE_DONE,
};

/* What people want to know. */
typedef struct tree_progress {
    uint32_t files;      /* of the manifest */
    uint32_t files_done; /* stored, or there already */
    uint64_t bytes;      /* of all files */
    uint64_t bytes_done; /* stored, or there already */
    uint64_t bytes_held; /* of these: there before this process began */
    uint32_t entry;      /* that was written to last */
} tree_progress;

#endif
