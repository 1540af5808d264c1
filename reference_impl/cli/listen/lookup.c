/* SPDX-License-Identifier: BSD-2-Clause */
/* What a step of a tree transfer needs from the disk before its first byte can be sent: see lookup.h. */
#include "cli/listen/lookup.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/listen/entry_rules.h"
#include "cli/session/step_data.h"

/* Memory that an entry of a manifest takes besides its texts, encoded and not. */
#define ENTRY_BYTES 192
/* What a manifest or held list takes when it is decoded, in terms of its encoded length: 5 bytes for a complete file
 * become 32. */
#define DECODED_FACTOR 8
/* Memory is claimed in steps, so that few threads meet at the counter. */
#define CLAIM_STEP_BYTES (UINT64_C(256) << 10)

struct lookup {
    lookup_plan plan;
    step_name step;
    jobs *all;
    job *work;
    list_claim claim;
    /* While it runs, the thread's own. */
    const atomic_bool *stop;
    uint64_t entries;
    uint64_t claimed_ahead;
    /* The result. */
    tree_files *files;
    manifest *all_entries;
    held_list *held;
    layout *content;
    source *held_source;
    const char *other_step;
    netblt_failure failure;
};

/* ---- limits ----------------------------------------------------------------------------------------------------- */

static int claim(lookup *one, uint64_t bytes, netblt_failure *failure)
{
    if (bytes <= one->claimed_ahead) {
        one->claimed_ahead -= bytes;
        return 0;
    }
    if (!list_claim_more(&one->claim, bytes + CLAIM_STEP_BYTES))
        return netblt_fail(failure, NETBLT_FAILURE_LOCAL, "not enough memory: later");
    one->claimed_ahead += CLAIM_STEP_BYTES;
    return 0;
}

/* tree_walk_how.keep */
static int keep(void *context, const manifest_entry *entry, netblt_failure *failure)
{
    lookup *one = context;
    uint64_t texts = strlen(entry->path) + (entry->target == NULL ? 0 : strlen(entry->target));
    if (*one->stop)
        return netblt_fail(failure, NETBLT_FAILURE_LOCAL, "stopped");
    if (++one->entries > one->plan.max_entries)
        return netblt_fail(failure, NETBLT_FAILURE_LOCAL, "more than %llu files and directories",
                           (unsigned long long)one->plan.max_entries);
    return claim(one, ENTRY_BYTES + 2 * texts + 2 * sizeof(hole) * entry->hole_count, failure);
}

/* tree_store_how.claim: the manifest that is read again. */
static const char *claim_manifest(void *context, uint64_t bytes)
{
    lookup *one = context;
    return list_claim_more(&one->claim, bytes * DECODED_FACTOR) ? NULL : "not enough memory: later";
}

/* tree_store_how.check: what was stored may have come before these rules. */
static const char *check_entry(void *context, const manifest_entry *entry)
{
    lookup *one = context;
    if (*one->stop)
        return "stopped";
    if (++one->entries > one->plan.max_entries)
        return "more files and directories than this server stores at once";
    return entry_check(entry);
}

/* ---- content ---------------------------------------------------------------------------------------------------- */

static int decode_held(lookup *one)
{
    netblt_failure failure;
    if (one->plan.held == NULL)
        return 0;
    one->held = held_decode(one->plan.held, one->plan.held_bytes, one->all_entries, &failure);
    if (one->held == NULL)
        one->failure = failure;
    return one->held == NULL ? -1 : 0;
}

static void walk(lookup *one)
{
    const tree_walk_how how = {.keep = keep, .context = one};
    netblt_failure failure; /* of the call that fails, and of no other */
    one->files = tree_files_open_beneath(one->plan.root, one->step.name, &failure);
    one->all_entries = one->files == NULL ? NULL : tree_files_walk(one->files, &how, &failure);
    if (one->all_entries == NULL) {
        one->failure = failure;
        return;
    }
    if (one->step.kind == STEP_CONTENT && memcmp(one->all_entries->id, one->step.manifest_id, STEP_ID_BYTES) != 0) {
        one->other_step = STEP_CHANGED;
        return;
    }
    if (decode_held(one) != 0)
        return;
    one->content = layout_new(one->all_entries, one->held);
    if (one->content == NULL)
        netblt_fail(&one->failure, NETBLT_FAILURE_LOCAL, "not enough memory");
    else if (one->step.offset > layout_bytes(one->content))
        netblt_fail(&one->failure, NETBLT_FAILURE_LOCAL, "the content is shorter than the offset");
}

/* ---- the held list ---------------------------------------------------------------------------------------------- */

static void recall(lookup *one)
{
    int directory = one->plan.directory;
    netblt_failure failure; /* of the call that fails, and of no other */
    tree_store *store;
    one->plan.directory = -1;
    store = tree_store_open(directory, one->plan.base, &one->plan.store_how, &failure);
    if (store != NULL && tree_store_recall(store, one->step.manifest_id, &failure) == 0)
        one->held_source = step_held_source(tree_store_held(store), tree_store_manifest(store), &failure);
    else if (store != NULL && tree_store_state(store) == TREE_CHANGED)
        one->other_step = STEP_CHANGED;
    if (one->held_source == NULL)
        one->failure = failure;
    tree_store_close(store);
}

/* ---- the job ---------------------------------------------------------------------------------------------------- */

static void run(void *context, const atomic_bool *stop)
{
    lookup *one = context;
    one->stop = stop;
    if (one->step.kind == STEP_HELD)
        recall(one);
    else
        walk(one);
}

static void free_lookup(void *context)
{
    lookup *one = context;
    source_close(one->held_source);
    layout_free(one->content);
    held_free(one->held);
    manifest_free(one->all_entries);
    tree_files_close(one->files);
    list_claim_return(&one->claim);
    if (one->plan.directory >= 0)
        close(one->plan.directory);
    free(one->plan.held);
    free((char *)one->plan.base);
    free(one);
}

lookup *lookup_begin(jobs *all, const lookup_plan *plan)
{
    lookup *one = calloc(1, sizeof *one);
    job_plan work = {.run = run, .free = free_lookup, .context = one};
    if (one == NULL) {
        free(plan->held);
        if (plan->directory >= 0)
            close(plan->directory);
        return NULL;
    }
    one->plan = *plan;
    one->plan.base = plan->base == NULL ? NULL : strdup(plan->base);
    one->plan.store_how.claim = claim_manifest;
    one->plan.store_how.check = check_entry;
    one->plan.store_how.context = one;
    one->step = *plan->step;
    one->claim.memory = plan->memory;
    one->all = all;
    if ((plan->base == NULL || one->plan.base != NULL) &&
        list_claim_more(&one->claim, one->plan.held_bytes * (1 + DECODED_FACTOR)))
        one->work = jobs_add(all, &work);
    if (one->work == NULL) {
        free_lookup(one);
        return NULL;
    }
    return one;
}

void lookup_end(lookup *one)
{
    if (one != NULL)
        job_drop(one->all, one->work);
}

bool lookup_has_ended(const lookup *one)
{
    bool ran;
    return job_has_ended(one->work, &ran);
}

/* ---- the result ------------------------------------------------------------------------------------------------- */

static source *content_source(lookup *one, const char *name, netblt_failure *failure)
{
    const tree_reader_args args = {.files = one->files,
                                   .all = one->all_entries,
                                   .held = one->held,
                                   .sum = TREE_SUM_BLAKE3,
                                   .with_manifest = one->step.kind == STEP_FIRST,
                                   .offset = one->step.offset,
                                   .most_bytes = TRANSFER_MAX_BYTES};
    return source_open_tree(&args, name, failure);
}

source *lookup_source(lookup *one, const char *name, const char **other_step, netblt_failure *failure)
{
    source *from = one->held_source;
    bool ran;
    *other_step = one->other_step;
    if (one->other_step != NULL)
        return NULL;
    job_has_ended(one->work, &ran);
    if (!ran)
        netblt_fail(failure, NETBLT_FAILURE_LOCAL, "the server has no thread: later");
    else if (one->failure.kind != NETBLT_FAILURE_NONE)
        *failure = one->failure;
    else if (one->step.kind != STEP_HELD)
        return content_source(one, name, failure);
    one->held_source = NULL;
    return from;
}

lookup_sizes lookup_get_sizes(const lookup *one)
{
    lookup_sizes sizes = {0};
    if (!lookup_has_ended(one) || one->content == NULL)
        return sizes;
    for (uint32_t i = 0; i < one->all_entries->count; i++) {
        sizes.files += one->all_entries->entries[i].kind == ENTRY_FILE;
        sizes.bytes += manifest_data_bytes(&one->all_entries->entries[i]);
    }
    sizes.missing_bytes = layout_file_bytes(one->content);
    return sizes;
}

const manifest *lookup_manifest(const lookup *one)
{
    return lookup_has_ended(one) ? one->all_entries : NULL;
}

bool lookup_is_last_part(const lookup *one, const source *from)
{
    return one->content == NULL || source_tree_end_offset(from) == layout_bytes(one->content);
}
