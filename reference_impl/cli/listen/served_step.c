/* SPDX-License-Identifier: BSD-2-Clause */
/* One connection of `netblt listen` that is a step of a tree transfer (docs/tree-transfer.md). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/listen/entry_rules.h"
#include "cli/listen/serve.h"
#include "cli/listen/tree.h"
#include "cli/report/hex.h"
#include "cli/transfer/reasons.h"
#include "io/clock.h"

/* Memory for a manifest and what is made of it, in terms of its encoded length. */
#define MANIFEST_FACTOR 8
/* Holes cost a peer nothing, and this end the time to hash them. */
#define HOLES_MAX_BYTES (UINT64_C(1) << 40)

bool served_is_step(const served *one)
{
    return one->work.offers_tree;
}

/* ---- storing ---------------------------------------------------------------------------------------------------- */

/* These are called in the thread of the sink. */
static const char *claim_manifest(void *context, uint64_t bytes)
{
    served *one = context;
    bool fits = bytes <= MANIFEST_MAX_BYTES && list_claim_more(&one->claim, bytes * MANIFEST_FACTOR);
    return fits ? NULL : "not enough memory for the list of files: later";
}

static const char *claim_pieces(void *context, uint64_t bytes)
{
    served *one = context;
    return list_claim_more(&one->claim, bytes) ? NULL : "not enough memory for incomplete pieces: later";
}

static uint64_t pieces_in_holes(const manifest_entry *entry)
{
    uint64_t pieces = 0;
    for (uint32_t i = 0; i < entry->hole_count; i++)
        pieces += entry->holes[i].count;
    return pieces;
}

static const char *check_entry(void *context, const manifest_entry *entry)
{
    served *one = context;
    if (++one->entries > one->server->given->max_entries.value)
        return "more files and directories than this server stores at once";
    one->hole_pieces += pieces_in_holes(entry);
    if (one->hole_pieces > HOLES_MAX_BYTES / PIECE_BYTES)
        return "more than 1 TiB of it are holes";
    return entry_check(entry);
}

static tree_store_how store_how(const served *one)
{
    const options *given = one->server->given;
    return (tree_store_how){.replace = given->force, .sync = given->sync == SYNC_ALWAYS, .drop_special_bits = true};
}

static const char *begin_storing(served *one)
{
    tree_store_how how = store_how(one);
    const sink_how sink_wants = transfer_sink_how(&one->work, how.replace);
    netblt_failure failure;
    const char *reason = NULL;
    const char *base;
    sink *to;
    int dir = tree_open_target(one->server->root, one->step.name, &base, &reason);
    if (dir < 0)
        return reason;
    how.claim = claim_manifest;
    how.claim_pieces = claim_pieces;
    how.check = check_entry;
    how.context = one;
    one->store = tree_store_open(dir, base, &how, &failure);
    to = one->store == NULL ? NULL : sink_open_tree(one->store, &sink_wants, one->printable, &failure);
    if (to == NULL)
        return "the server cannot write it";
    transfer_set_sink(&one->work, to);
    return NULL;
}

/* ---- sending ---------------------------------------------------------------------------------------------------- */

static bool holds_nothing(const step_name *step)
{
    static const uint8_t none[STEP_ID_BYTES];
    return step->kind != STEP_CONTENT || memcmp(step->held_id, none, sizeof none) == 0;
}

/* A copy of the held list that the peer refers to. NULL, or why not. */
static const char *find_held(const served *one, lookup_plan *plan)
{
    held_key key;
    const uint8_t *kept;
    if (holds_nothing(&one->step))
        return NULL;
    memcpy(key.manifest, one->step.manifest_id, sizeof key.manifest);
    memcpy(key.held, one->step.held_id, sizeof key.held);
    kept = held_cache_find(&one->server->held_lists, &key, &plan->held_bytes);
    if (kept == NULL)
        return STEP_RESUME;
    plan->held = malloc(plan->held_bytes);
    if (plan->held == NULL)
        return REASON_NO_MEMORY_NOW;
    memcpy(plan->held, kept, plan->held_bytes);
    return NULL;
}

static const char *begin_looking(served *one)
{
    serve *server = one->server;
    const char *reason = NULL;
    lookup_plan plan = {.root = server->root,
                        .step = &one->step,
                        .memory = &server->lists,
                        .max_entries = server->given->max_entries.value,
                        .directory = -1};
    if (one->task == TASK_SEND_HELD) {
        plan.store_how = store_how(one);
        plan.directory = tree_open_target(server->root, one->step.name, &plan.base, &reason);
    } else {
        reason = find_held(one, &plan);
    }
    if (reason != NULL)
        return reason;
    one->looking = lookup_begin(&server->work, &plan);
    return one->looking == NULL ? REASON_NO_MEMORY_NOW : NULL;
}

/* What the lookup found: the step can begin, or the peer needs another one, or there is nothing to be had. */
static void end_looking(served *one)
{
    transfer *work = &one->work;
    netblt_time now = netblt_clock_now();
    const char *other_step = NULL;
    source *from = lookup_source(one->looking, one->printable, &other_step, &work->failure);
    if (from != NULL) {
        transfer_set_source(work, from);
        netblt_resume(work->connection, now);
    } else {
        netblt_abort(work->connection, other_step != NULL ? other_step : work->failure.text, now);
    }
}

/* ---- held lists ------------------------------------------------------------------------------------------------- */

/* transfer.approve */
static bool keep_held(transfer *work)
{
    served *one = (served *)work; /* its first member */
    held_key key;
    uint64_t length = 0;
    uint8_t *bytes = held_inbox_take(&one->inbox, one->step.manifest_id, &length, key.held, &work->failure);
    if (bytes == NULL)
        return false;
    memcpy(key.manifest, one->step.manifest_id, sizeof key.manifest);
    if (held_cache_keep(&one->server->held_lists, &one->foreign, &key, bytes, length) == 0)
        return true;
    netblt_fail(&work->failure, NETBLT_FAILURE_LOCAL, "no memory for the list of what the peer has");
    return false;
}

/* The list takes memory as it arrives: so much is set aside for it. */
static const char *begin_taking_held(served *one)
{
    const sink_how how = transfer_sink_how(&one->work, false);
    netblt_failure failure;
    sink *to;
    one->inbox.most_bytes = HELD_LIST_MAX_BYTES;
    if (!list_claim_more(&one->claim, one->inbox.most_bytes)) {
        one->inbox.most_bytes = LIST_MEMORY_LEAST_BYTES;
        list_claim_more(&one->claim, one->inbox.most_bytes);
    }
    to = held_inbox_open(&one->inbox, &how, &failure);
    if (to == NULL)
        return REASON_NO_MEMORY_NOW;
    one->work.approve = keep_held;
    transfer_set_sink(&one->work, to);
    return NULL;
}

/* ---- the step --------------------------------------------------------------------------------------------------- */

const char *served_begin_step(served *one)
{
    const char *reason;
    served_describe(one);
    if (!transfer_is_tree(&one->work)) /* no room for what the ends agree on by */
        return "no agreement on a tree transfer";
    if (one->task == TASK_STORE)
        reason = begin_storing(one);
    else if (one->task == TASK_TAKE_HELD)
        reason = begin_taking_held(one);
    else
        reason = begin_looking(one);
    one->was_answered = reason != NULL && strcmp(reason, STEP_RESUME) == 0;
    return reason;
}

void served_follow_step(served *one)
{
    transfer *work = &one->work;
    if (work->connection == NULL || work->finished)
        return;
    if (one->store != NULL)
        step_follow_store(work, one->store);
    else if (one->looking != NULL && work->from == NULL && work->failure.kind == NETBLT_FAILURE_NONE &&
             lookup_has_ended(one->looking))
        end_looking(one);
}

/* ---- what it came to -------------------------------------------------------------------------------------------- */

static void sum_up_sent(const served *one, summary *end)
{
    const lookup_sizes sizes = lookup_get_sizes(one->looking);
    end->files = sizes.files;
    end->bytes_held = sizes.bytes - sizes.missing_bytes;
    if (one->work.outcome == NETBLT_DONE)
        end->bytes = sizes.missing_bytes;
}

/* What earlier steps have stored is held by the store, and was moved by this transfer. */
static void sum_up_stored(const served *one, summary *end)
{
    const tree_progress progress = tree_store_progress(one->store);
    uint64_t moved_before = one->past.moved_bytes;
    end->files = progress.files;
    end->bytes_held = progress.bytes_held > moved_before ? progress.bytes_held - moved_before : 0;
    end->bytes = progress.bytes_done - progress.bytes_held + moved_before;
}

static bool only_file(const served *one, uint32_t *entry)
{
    const manifest *all = one->store != NULL     ? tree_store_manifest(one->store)
                          : one->looking != NULL ? lookup_manifest(one->looking)
                                                 : NULL;
    for (uint32_t i = 0; all != NULL && i < all->count; i++)
        if (all->entries[i].kind == ENTRY_FILE) {
            *entry = i;
            return true;
        }
    return false;
}

void served_sum_up(const served *one, summary *end)
{
    const transfer *work = &one->work;
    uint8_t sum[PIECE_HASH_BYTES];
    uint32_t entry;
    if (!served_is_step(one))
        return;
    end->is_tree = true;
    if (one->store != NULL)
        sum_up_stored(one, end);
    else if (one->looking != NULL)
        sum_up_sent(one, end);
    end->resumed = end->bytes_held > 0;
    if (work->outcome != NETBLT_DONE || end->files != 1 || !only_file(one, &entry))
        return;
    if (one->store != NULL ? tree_store_sum(one->store, entry, sum) : source_tree_sum(work->from, entry, sum))
        hex_text(sum, PIECE_HASH_BYTES, end->blake3);
}

/* ---- what follows ----------------------------------------------------------------------------------------------- */

static bool is_last_step(const served *one)
{
    switch (one->task) {
    case TASK_STORE:
        return one->store == NULL || tree_store_state(one->store) == TREE_DONE;
    case TASK_SEND:
        return one->looking == NULL || one->work.from == NULL || lookup_is_last_part(one->looking, one->work.from);
    default:
        return false;
    }
}

bool served_goes_on(const served *one)
{
    const transfer *work = &one->work;
    if (!served_is_step(one))
        return false;
    if (one->was_answered)
        return true;
    if (!work->finished || work->failure.kind != NETBLT_FAILURE_NONE)
        return false;
    if (work->outcome == NETBLT_DONE)
        return !is_last_step(one);
    return (work->outcome == NETBLT_LOCAL_ABORT || work->outcome == NETBLT_PEER_ABORTED) &&
           (strcmp(work->reason, STEP_RESUME) == 0 || strcmp(work->reason, STEP_CHANGED) == 0);
}

bool served_needs_no_name(const served *one)
{
    return one->task == TASK_SEND_HELD && (one->looking == NULL || lookup_has_ended(one->looking));
}

/* Whether the name is kept for the next step, or for another attempt, of the same host. */
static bool keeps_name(const served *one)
{
    enum netblt_result outcome = one->work.outcome;
    if (!served_is_step(one) || !one->holds[SCOPE_NAME] || !one->work.finished || one->gave_way)
        return false;
    return served_goes_on(one) || outcome == NETBLT_PEER_DEAD || outcome == NETBLT_PEER_ABORTED ||
           outcome == NETBLT_PEER_QUIT;
}

void served_note_end(served *one)
{
    one->went_on = served_goes_on(one);
    one->keeps_name = keeps_name(one);
}

void served_end_step(served *one)
{
    tree_progress progress;
    if (one->store != NULL) {
        progress = tree_store_progress(one->store);
        one->past.moved_bytes += progress.bytes_done - progress.bytes_held;
    }
    tree_store_close(one->store);
    one->store = NULL;
    held_inbox_close(&one->inbox);
    lookup_end(one->looking);
    one->looking = NULL;
    if (one->claim.memory != NULL)
        list_claim_return(&one->claim);
}
