/* SPDX-License-Identifier: BSD-2-Clause */
/* What netblt send and recv show of a session: progress, summary, JSON. */
#include <stdio.h>
#include <string.h>

#include "cli/report/hex.h"
#include "cli/session/session.h"
#include "io/clock.h"

/* A tree may have millions of files, and its object is one line. */
#define SUMS_MAX 1000

/* ---- counting -----------------------------------------------------------------------------------------------------
 */

/* What an attempt that failed has moved is held by the receiver, and is no part of the last plan. */
static bool is_lost(const session *all, const step *one)
{
    const transfer *work = &one->work;
    return all->given->role == NETBLT_SENDER && transfer_is_tree(work) && one->what.kind != STEP_HELD &&
           work->outcome != NETBLT_DONE && strcmp(work->reason, STEP_RESUME) != 0 &&
           strcmp(work->reason, STEP_CHANGED) != 0;
}

void session_count(session *all, const step *one)
{
    session_totals *totals = &all->totals;
    const netblt_stats *stats = &one->work.info.stats;
    summary end;
    transfer_judge(&one->work, &end);
    totals->transfers += one->work.opened;
    totals->packets_sent += stats->packets_sent;
    totals->packets_retransmitted += stats->data_packets_retransmitted;
    totals->packets_duplicate += stats->data_packets_duplicate;
    totals->packets_received += stats->packets_received;
    totals->resends_sent += stats->resends_sent;
    totals->data_timeouts += stats->data_timeouts;
    totals->wire_bytes += end.wire_bytes;
    if (totals->started_at == 0)
        totals->started_at = one->work.started_at;
    if (totals->first_data_at == 0)
        totals->first_data_at = stats->first_data_at;
    if (is_lost(all, one))
        totals->lost_bytes += stats->payload_bytes;
}

/* ---- files --------------------------------------------------------------------------------------------------------
 */

static const manifest *manifest_of(const session *all)
{
    if (all->given->role == NETBLT_SENDER)
        return all->files.all;
    return all->files.store != NULL ? tree_store_manifest(all->files.store) : NULL;
}

static void count_files(const manifest *all, uint32_t *files, uint64_t *bytes)
{
    *files = 0;
    *bytes = 0;
    for (uint32_t i = 0; i < all->count; i++) {
        *files += all->entries[i].kind == ENTRY_FILE;
        *bytes += manifest_data_bytes(&all->entries[i]);
    }
}

static void count_tree(const session *all, summary *end)
{
    const manifest *known = manifest_of(all);
    uint64_t bytes;
    if (known == NULL)
        return;
    count_files(known, &end->files, &bytes);
    if (all->given->role == NETBLT_SENDER) {
        uint64_t planned = layout_file_bytes(all->files.plan);
        end->bytes_held = bytes > planned ? bytes - planned : 0;
        end->bytes = all->totals.lost_bytes + (all->done ? planned : 0);
    } else {
        tree_progress progress = tree_store_progress(all->files.store);
        end->bytes_held = progress.bytes_held;
        end->bytes = progress.bytes_done - progress.bytes_held;
    }
}

static bool sum_of(const session *all, uint32_t entry, uint8_t sum[PIECE_HASH_BYTES])
{
    if (all->given->role == NETBLT_RECEIVER)
        return tree_store_sum(all->files.store, entry, sum);
    return tree_sums_get(all->files.sums, entry, sum);
}

static bool sums_are_sha256(const session *all)
{
    if (all->given->role == NETBLT_RECEIVER)
        return tree_store_sum_kind(all->files.store) == TREE_SUM_SHA256;
    return all->given->hash == HASH_SHA256;
}

static void add_sums(const session *all, summary *end)
{
    const manifest *known = manifest_of(all);
    char text[DIGEST_TEXT_BYTES];
    uint8_t sum[PIECE_HASH_BYTES];
    end->sums = all->given->json ? json_array() : NULL;
    for (uint32_t i = 0; i < known->count; i++) {
        const manifest_entry *entry = &known->entries[i];
        if (entry->kind != ENTRY_FILE || !sum_of(all, i, sum))
            continue;
        hex_text(sum, PIECE_HASH_BYTES, text);
        if (end->files == 1)
            snprintf(sums_are_sha256(all) ? end->sha256 : end->blake3, DIGEST_TEXT_BYTES, "%s", text);
        if (end->sums == NULL || json_array_size(end->sums) >= SUMS_MAX)
            break;
        json_array_append_new(end->sums, json_pack("{s:o, s:I, s:s}", "path", json_text(entry->path), "size",
                                                   JSON_WHOLE(entry->size), "sum", text));
    }
}

/* ---- progress -----------------------------------------------------------------------------------------------------
 */

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

/* The entry that moves now: its name, and its number among the files. A single file is shown as in any other transfer.
 */
static void view_entry(const session *all, uint32_t entry, progress_view *view)
{
    const manifest *known = manifest_of(all);
    if (known == NULL || entry >= known->count || all->shown_files < 2)
        return;
    view->name = known->entries[entry].path;
    view->files = all->shown_files;
    view->file_total = known->entries[entry].size;
    for (uint32_t i = 0; i <= entry; i++)
        view->file_number += known->entries[i].kind == ENTRY_FILE;
}

static void view_stored(session *all, progress_view *view)
{
    tree_progress progress = tree_store_progress(all->files.store);
    all->shown_files = progress.files;
    view->bytes = progress.bytes_done;
    view->total = progress.bytes;
    view_entry(all, progress.entry, view);
}

/* What was sent is counted with its hashes, which are one byte in 2,000. */
static void view_sent(session *all, const step *one, progress_view *view)
{
    uint64_t bytes;
    uint64_t held;
    count_files(all->files.all, &all->shown_files, &bytes);
    held = bytes - layout_file_bytes(all->files.plan);
    view->bytes += held + one->what.offset;
    view->bytes = view->bytes < bytes ? view->bytes : bytes;
    view->total = bytes;
    if (one->work.from != NULL)
        view_entry(all, source_tree_entry(one->work.from), view);
}

void session_show_progress(session *all)
{
    step *one = all->current;
    netblt_time now = netblt_clock_now();
    progress_view view;
    if (one == NULL || now < report_progress_next() || one->work.connection == NULL || !one->work.opened ||
        one->what.kind == STEP_HELD || !one->begun)
        return;
    view = transfer_progress(&one->work);
    view.name = last_part(all->files.name);
    view.started_at = all->totals.started_at != 0 ? all->totals.started_at : view.started_at;
    if (transfer_is_tree(&one->work) && all->given->role == NETBLT_RECEIVER)
        view_stored(all, &view);
    else if (transfer_is_tree(&one->work))
        view_sent(all, one, &view);
    report_progress(&view, now);
}

/* ---- the end ------------------------------------------------------------------------------------------------------
 */

/* The last transfer as the command's result: what happened outside of it explains more. */
static enum exit_code judge(session *all, summary *end)
{
    transfer view = {.net = &all->net, .role = all->given->role, .name = all->files.name, .peer = "the peer"};
    if (all->last != NULL)
        view = all->last->work;
    view.role = all->given->role;
    if (all->failure.kind != NETBLT_FAILURE_NONE)
        view.failure = all->failure;
    if (all->interrupted && !all->done) {
        view.interrupted = true;
        view.outcome = view.outcome == NETBLT_DONE ? NETBLT_LOCAL_QUIT : view.outcome;
    }
    return transfer_judge(&view, end);
}

static void add_totals(const session *all, summary *end)
{
    const session_totals *totals = &all->totals;
    netblt_stats *stats = &end->info.stats;
    netblt_time ended_at = all->last->work.finished_at;
    if (totals->transfers < 2)
        return;
    stats->packets_sent = totals->packets_sent;
    stats->packets_received = totals->packets_received;
    stats->data_packets_retransmitted = totals->packets_retransmitted;
    stats->data_packets_duplicate = totals->packets_duplicate;
    stats->resends_sent = totals->resends_sent;
    stats->data_timeouts = totals->data_timeouts;
    end->wire_bytes = totals->wire_bytes;
    end->seconds = transfer_seconds(totals->started_at, ended_at);
    end->steady_seconds = transfer_seconds(totals->first_data_at, stats->last_buffer_at);
    end->transfers = totals->transfers;
}

/* Why a transfer failed, and what the next attempt need not move again. */
static void report_failure(const session *all, const char *reason)
{
    tree_progress progress = {0};
    char kept[TEXT_AMOUNT_BYTES];
    char total[TEXT_AMOUNT_BYTES];
    if (all->given->role == NETBLT_RECEIVER && manifest_of(all) != NULL)
        progress = tree_store_progress(all->files.store);
    if (progress.bytes_done == 0) {
        report_error("%s", reason);
        return;
    }
    report_error("%s; %s of %s are kept, the same command%s goes on from there", reason,
                 text_bytes(progress.bytes_done, kept), text_bytes(progress.bytes, total),
                 all->given->discard ? " without --no-resume" : "");
}

enum exit_code session_report(session *all)
{
    summary end;
    enum exit_code code = judge(all, &end);
    if (all->last != NULL)
        add_totals(all, &end);
    end.is_tree = all->last != NULL && transfer_is_tree(&all->last->work);
    end.resumed = all->resumed;
    if (end.is_tree)
        count_tree(all, &end);
    if (end.is_tree && all->done)
        add_sums(all, &end);
    if (code != EXIT_CODE_DONE)
        report_failure(all, end.reason);
    else if (!all->given->quiet && !all->given->json)
        summary_print_text(&end);
    if (all->given->json)
        report_object(summary_object(&end));
    return code;
}
