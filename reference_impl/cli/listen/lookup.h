/* SPDX-License-Identifier: BSD-2-Clause */
/* What a step of a tree transfer needs from the disk before its first byte can be sent, by a job. */
#ifndef NETBLT_CLI_LOOKUP_H
#define NETBLT_CLI_LOOKUP_H

#include "cli/listen/jobs.h"
#include "cli/listen/list_memory.h"
#include "cli/session/step_name.h"
#include "cli/store/source.h"
#include "cli/tree/tree_files.h"
#include "cli/tree/tree_store.h"

typedef struct lookup_plan {
    int root; /* what is served; lives on */
    const step_name *step;
    list_memory *memory;
    uint64_t max_entries;
    uint8_t *held; /* STEP_CONTENT: the encoded held list, from malloc(), which is taken over; NULL: nothing is held */
    size_t held_bytes;
    int directory;            /* STEP_HELD: in which `base` is stored, which is taken over; else -1 */
    const char *base;         /* STEP_HELD: NULL: the top entries themselves */
    tree_store_how store_how; /* STEP_HELD; its functions are set by lookup_begin() */
} lookup_plan;

typedef struct lookup lookup;

/* NULL when memory is short, or claimed by others. */
lookup *lookup_begin(jobs *all, const lookup_plan *plan);
/* It is no longer needed, or its source is closed. NULL is allowed. */
void lookup_end(lookup *one);
bool lookup_has_ended(const lookup *one);

/* After its end, once: a source of the step's data, which is to be closed before lookup_end(). NULL with *other_step
 * (STEP_CHANGED: the files are not those that the peer means any more) or with *failure, whose text the peer may see.
 */
source *lookup_source(lookup *one, const char *name, const char **other_step, netblt_failure *failure);
/* Of a content step with a source: of all files, and of those the bytes that the peer does not hold. */
typedef struct lookup_sizes {
    uint32_t files;
    uint64_t bytes;
    uint64_t missing_bytes;
} lookup_sizes;
lookup_sizes lookup_get_sizes(const lookup *one);
const manifest *lookup_manifest(const lookup *one); /* NULL: not of a content step, or not walked yet */
/* The source has supplied everything: whether no part of the content follows. */
bool lookup_is_last_part(const lookup *one, const source *from);

#endif
