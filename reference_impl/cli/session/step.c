/* SPDX-License-Identifier: BSD-2-Clause */
/* One transfer of a session: its source or sink, and what its end means for the session (docs/tree-transfer.md). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/session/session.h"
#include "io/clock.h"

/* Steps without content in a row. Held list and content alternate, and a file that differs costs three; more of them
 * mean that the ends do not understand one another. */
#define IDLE_STEPS_MAX 12
#define NEEDS_TREE "several files or a directory need a remote netblt that can do tree transfers"

step *step_new(session *all, const step_name *what)
{
    step *one = calloc(1, sizeof *one);
    bool is_held = what->kind == STEP_HELD;
    enum netblt_role role = all->given->role;
    if (one == NULL)
        return NULL;
    if (is_held)
        role = role == NETBLT_SENDER ? NETBLT_RECEIVER : NETBLT_SENDER;
    one->all = all;
    one->what = *what;
    one->inbox.fd = -1;
    one->work = (transfer){.net = &all->net,
                           .role = role,
                           .name = all->files.name,
                           .peer = all->given->host != NULL ? all->given->host : "the peer",
                           .started_at = netblt_clock_now(),
                           .offers_tree = session_files_are_tree(&all->files),
                           .in_order = is_held || all->files.to.kind == DEST_STREAM};
    LIST_INSERT_HEAD(&all->steps, one, entry);
    return one;
}

static void close_data(step *one)
{
    transfer_close_source(&one->work);
    sink_close(one->work.to); /* its thread wakes the station */
    one->work.to = NULL;
    held_inbox_close(&one->inbox);
    buffer_pool_clear(&one->work.early);
}

void step_free(step *one)
{
    close_data(one);
    one->all->first_bytes -= one->first_bytes;
    LIST_REMOVE(one, entry);
    free(one);
}

/* ---- beginning ----------------------------------------------------------------------------------------------------
 */

static void end(step *one, const char *reason)
{
    if (one->work.connection != NULL && !one->work.finished)
        netblt_abort(one->work.connection, reason, netblt_clock_now());
}

static void give_source(step *one, source *from)
{
    if (from != NULL)
        transfer_set_source(&one->work, from);
    else
        end(one, "the sender cannot read its data");
}

static void give_sink(step *one, sink *to)
{
    if (to != NULL)
        transfer_set_sink(&one->work, to);
    else
        end(one, "the receiver cannot store the data");
}

/* The data are one file, and the peer knows nothing else. */
static void begin_one(step *one)
{
    session_files *files = &one->all->files;
    netblt_failure *failure = &one->work.failure;
    if (!files->is_one || one->what.kind != STEP_FIRST) {
        netblt_fail(failure, NETBLT_FAILURE_UNSUPPORTED, "%s cannot do tree transfers: " NEEDS_TREE, one->work.peer);
        end(one, NEEDS_TREE);
    } else if (one->work.role == NETBLT_SENDER) {
        if (one->work.from == NULL) /* else lent before the peer had the place */
            give_source(one, session_files_source(files, failure));
    } else {
        give_sink(one, session_files_sink(files, failure));
    }
}

static void begin_sender(step *one)
{
    session_files *files = &one->all->files;
    netblt_failure *failure = &one->work.failure;
    sink_how how = transfer_sink_how(&one->work, true);
    const char *objection;
    if (one->what.kind == STEP_FIRST && session_files_refresh(files, failure) != 0) {
        end(one, "the sender cannot read its data");
        return;
    }
    objection = session_files_object(files, &one->what);
    if (objection != NULL) {
        end(one, objection);
    } else if (one->what.kind == STEP_HELD) {
        give_sink(one, held_inbox_open(&one->inbox, &how, failure));
    } else {
        one->reading = session_files_reading(files, &one->what);
        give_source(one, source_open_tree(&one->reading, files->name, failure));
    }
}

/* What is there already may make the content that comes with the manifest useless. */
static bool holds_back(const transfer *work)
{
    const step *one = (const step *)work;
    const session *all = one->all;
    return one->what.kind == STEP_FIRST && (all->files.may_hold || all->totals.transfers > 0) &&
           !tree_store_takes_content(all->files.store);
}

static void begin_receiver(step *one)
{
    session_files *files = &one->all->files;
    netblt_failure *failure = &one->work.failure;
    sink_how how = transfer_sink_how(&one->work, true);
    const char *reason;
    source *from;
    if (one->what.kind != STEP_HELD) {
        one->work.holds_back = holds_back;
        give_sink(one, sink_open_tree(files->store, &how, files->name, failure));
        return;
    }
    from = session_files_held(files, &one->what, &reason, failure);
    if (reason != NULL) {
        *failure = (netblt_failure){0};
        end(one, reason);
    } else {
        give_source(one, from);
    }
}

void step_begin(step *one)
{
    one->begun = true;
    if (!transfer_is_tree(&one->work))
        begin_one(one);
    else if (one->all->given->role == NETBLT_SENDER)
        begin_sender(one);
    else
        begin_receiver(one);
}

/* ---- while it runs ------------------------------------------------------------------------------------------------
 */

static bool stores_a_tree(const step *one)
{
    return one->work.to != NULL && transfer_is_tree(&one->work) && one->what.kind != STEP_HELD;
}

void step_tend(step *one)
{
    if (!one->begun && one->work.from == NULL)
        return;
    transfer_tend(&one->work);
    if (stores_a_tree(one))
        step_follow_store(&one->work, one->all->files.store);
}

bool step_is_settled(const step *one)
{
    const transfer *work = &one->work;
    return work->finished && (work->to == NULL || sink_is_at_rest(work->to));
}

/* ---- its end ------------------------------------------------------------------------------------------------------
 */

bool step_was_ended_with(const step *one, const char *reason)
{
    const transfer *work = &one->work;
    return (work->outcome == NETBLT_PEER_ABORTED || work->outcome == NETBLT_LOCAL_ABORT ||
            work->outcome == NETBLT_REFUSED) &&
           strcmp(work->reason, reason) == 0;
}

static const uint8_t *manifest_id(const session *all)
{
    static const uint8_t none[MANIFEST_ID_BYTES];
    const manifest *known = all->given->role == NETBLT_SENDER ? all->files.all : tree_store_manifest(all->files.store);
    return known != NULL ? known->id : none;
}

static const uint8_t *held_id(const session *all)
{
    static const uint8_t none[STEP_ID_BYTES];
    const held_list *held = all->given->role == NETBLT_SENDER ? all->files.held : tree_store_held(all->files.store);
    return held != NULL ? held->id : none;
}

/* Sets session.next. */
static enum step_verdict go_on(session *all, enum step_kind kind, const uint8_t *held, uint64_t offset)
{
    all->next.kind = kind;
    all->next.offset = offset;
    memset(all->next.manifest_id, 0, STEP_ID_BYTES);
    memset(all->next.held_id, 0, STEP_ID_BYTES);
    if (kind != STEP_FIRST)
        memcpy(all->next.manifest_id, manifest_id(all), STEP_ID_BYTES);
    if (kind == STEP_CONTENT && held != NULL)
        memcpy(all->next.held_id, held, STEP_ID_BYTES);
    return STEP_GOES_ON;
}

static enum step_verdict after_held_came(step *one)
{
    session *all = one->all;
    netblt_failure *failure = &one->work.failure;
    uint8_t id[STEP_ID_BYTES];
    uint64_t length;
    uint8_t *encoded = held_inbox_take(&one->inbox, one->what.manifest_id, &length, id, failure);
    if (encoded == NULL || session_files_take_held(&all->files, encoded, length, failure) != 0)
        return STEP_FAILED;
    all->resumed = true;
    return go_on(all, STEP_CONTENT, held_id(all), 0);
}

static enum step_verdict after_sending(step *one)
{
    session *all = one->all;
    uint64_t offset = source_tree_end_offset(one->work.from);
    return offset < layout_bytes(all->files.plan) ? go_on(all, STEP_CONTENT, one->what.held_id, offset) : STEP_IS_LAST;
}

static enum step_verdict after_storing(step *one)
{
    session *all = one->all;
    if (tree_store_state(all->files.store) == TREE_DONE)
        return STEP_IS_LAST;
    return go_on(all, STEP_CONTENT, one->what.held_id, tree_store_next_offset(all->files.store));
}

static enum step_verdict after_success(step *one)
{
    session *all = one->all;
    bool sends = all->given->role == NETBLT_SENDER;
    if (!transfer_is_tree(&one->work))
        return STEP_IS_LAST;
    if (one->what.kind != STEP_HELD)
        return sends ? after_sending(one) : after_storing(one);
    all->resumed = true;
    return sends ? after_held_came(one) : go_on(all, STEP_CONTENT, held_id(all), 0);
}

static enum step_verdict judge(step *one)
{
    session *all = one->all;
    const transfer *work = &one->work;
    if (all->interrupted)
        return work->outcome == NETBLT_DONE && after_success(one) == STEP_IS_LAST ? STEP_IS_LAST : STEP_FAILED;
    if (work->failure.kind != NETBLT_FAILURE_NONE)
        return STEP_FAILED;
    if (work->outcome == NETBLT_DONE)
        return after_success(one);
    if (step_was_ended_with(one, STEP_LATER)) {
        all->idle_steps = 0;
        return go_on(all, STEP_FIRST, NULL, 0);
    }
    if (all->idle_steps >= IDLE_STEPS_MAX)
        return STEP_FAILED;
    if (step_was_ended_with(one, STEP_RESUME))
        return go_on(all, STEP_HELD, NULL, 0);
    if (step_was_ended_with(one, STEP_CHANGED))
        return go_on(all, STEP_FIRST, NULL, 0);
    return STEP_FAILED;
}

enum step_verdict step_end(step *one)
{
    session *all = one->all;
    enum step_verdict verdict;
    one->settled = true;
    session_count(all, one);
    all->idle_steps = one->what.kind == STEP_CONTENT && one->work.outcome == NETBLT_DONE ? 0 : all->idle_steps + 1;
    verdict = judge(one);
    if (transfer_is_tree(&one->work)) /* else the digest is still to be reported */
        close_data(one);
    return verdict;
}
