/* SPDX-License-Identifier: BSD-2-Clause */
/* What `netblt listen` reports: a line for each transfer and refusal, and how many it does not report one by one. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/listen/serve.h"
#include "cli/report/report.h"
#include "cli/report/text.h"
#include "io/clock.h"

/* Any host can make us refuse, or give a place to another peer: it must not be able to fill the log. */
#define REFUSALS_MAX 10
#define REFUSALS_PER_US 1000000
/* How often those that are not reported one by one are counted up. */
#define SUMMARY_S 10
#define SUMMARY_US (SUMMARY_S * UINT64_C(1000000))

static void count_unreported(serve *server)
{
    if (server->unreported++ == 0)
        server->summary_at = netblt_clock_now() + SUMMARY_US;
}

static bool are_too_many(serve *server)
{
    netblt_time now = netblt_clock_now();
    if (now - server->refusals_counted_from >= REFUSALS_PER_US) {
        server->refusals_counted_from = now;
        server->refusals = 0;
    }
    if (++server->refusals <= REFUSALS_MAX)
        return false;
    count_unreported(server);
    return true;
}

netblt_time serve_report_rest(serve *server, netblt_time now)
{
    if (server->unreported == 0)
        return NETBLT_TIME_NEVER;
    if (now < server->summary_at)
        return server->summary_at;
    report_note("%u more were refused or never validated in the last %u s", server->unreported, SUMMARY_S);
    server->unreported = 0;
    return NETBLT_TIME_NEVER;
}

/* A log that is no longer read is no reason to stop serving, but must not go unnoticed. */
static void note_output(serve *server, bool written)
{
    if (written)
        return;
    if (!server->output_failed)
        report_error("cannot write to stdout: %s; transfers go on", strerror(errno));
    server->output_failed = true;
    clearerr(stdout);
}

static void print_json(serve *server, const summary *end, const char *peer)
{
    json_t *object = json_pack("{s:o, s:s}", "file", json_text(end->name), "peer", peer);
    json_object_update_new(object, summary_object(end));
    note_output(server, report_object(object));
}

static const char *direction(enum netblt_role role)
{
    return role == NETBLT_SENDER ? "to" : "from";
}

static void print_done(serve *server, const summary *end, const char *peer)
{
    char text[TEXT_AMOUNT_BYTES];
    printf("%s %s %s %s: ", end->role == NETBLT_SENDER ? "sent" : "received", end->name, direction(end->role), peer);
    if (end->is_tree && end->files != 1)
        printf("%" PRIu32 " files, ", end->files);
    printf("%" PRIu64 " bytes in %.3f s (%s)", end->bytes, end->seconds,
           text_rate(summary_rate(end->bytes, end->seconds), text));
    if (end->bytes_held > 0)
        printf(", %" PRIu64 " bytes were there already", end->bytes_held);
    if (end->sha256[0] != '\0')
        printf(", sha256 %s", end->sha256);
    if (end->blake3[0] != '\0')
        printf(", blake3 %s", end->blake3);
    putchar('\n');
    note_output(server, report_flush());
}

/* Whether it is worth a line: a transfer was begun, or the peer ended it, or something failed here. The rest may
 * be forged. */
static bool is_worth_a_line(const served *one)
{
    const transfer *work = &one->work;
    return one->validated || work->failure.kind != NETBLT_FAILURE_NONE || work->outcome == NETBLT_PEER_QUIT ||
           work->outcome == NETBLT_PEER_ABORTED;
}

static void report_end(serve *server, served *one)
{
    summary end;
    enum exit_code code = transfer_judge(&one->work, &end);
    served_describe(one);
    served_sum_up(one, &end);
    if (server->given->json)
        print_json(server, &end, one->peer);
    else if (code == EXIT_CODE_DONE && !server->given->quiet)
        print_done(server, &end, one->peer);
    else if (code != EXIT_CODE_DONE)
        report_error("%s %s %s: %s", one->printable, direction(end.role), one->peer, end.reason);
}

/* The first interval begins when the connection opens, so it may be shorter than a second. */
static void print_progress(serve *server, served *one, netblt_time now)
{
    progress_view view = transfer_progress(&one->work);
    progress_interval interval;
    if (one->meter.sampled_at == 0)
        (void)progress_measure(&one->meter, 0, one->work.info.stats.opened_at);
    interval = progress_measure(&one->meter, view.bytes, now);
    served_describe(one);
    view.peer = one->peer;
    note_output(server, report_object(progress_object(&view, &one->meter, &interval)));
}

netblt_time serve_report_progress(serve *server, netblt_time now)
{
    served *one;
    if (!server->given->json_progress || LIST_EMPTY(&server->validated))
        return NETBLT_TIME_NEVER;
    if (now < server->objects_at)
        return server->objects_at;
    LIST_FOREACH(one, &server->validated, place)
        if (one->work.opened && !one->work.finished && report_has_room())
            print_progress(server, one, now);
    server->objects_at = report_progress_due(server->objects_at, now);
    return server->objects_at;
}

void serve_report(serve *server, served *one)
{
    if (served_goes_on(one))
        return;
    if (one->refused)
        serve_report_refusal(server, one, one->work.reason);
    else if (!is_worth_a_line(one))
        count_unreported(server);
    else if ((one->validated && !one->gave_way) || !are_too_many(server))
        report_end(server, one);
}

void serve_report_refusal(serve *server, served *one, const char *reason)
{
    summary end = {.result = "refused", .role = one->work.role, .name = one->printable};
    if (are_too_many(server))
        return;
    served_describe(one);
    snprintf(end.reason, sizeof end.reason, "%s", reason);
    if (server->given->json)
        print_json(server, &end, one->peer);
    else
        report_note("refused %s %s %s: %s", one->printable[0] == '\0' ? "(no name)" : one->printable,
                    direction(end.role), one->peer, reason);
}
