/* SPDX-License-Identifier: BSD-2-Clause */
/* netblt send and recv: one transfer. */
#include <string.h>

#include "cli/move/move.h"
#include "cli/move/only_place.h"
#include "cli/report/report.h"
#include "cli/transfer/parameters.h"
#include "io/clock.h"
#include "io/privileges.h"

typedef struct move {
    const options *given;
    station net;
    int directory;    /* in which the file will get its name; -1: none */
    transfer work;    /* of an active end; its file is that of a passive end too */
    only_place place; /* of a passive end; its `current` is the transfer of either end */
} move;

/* ---- starting ------------------------------------------------------------------------------------------------- */

/* A source is open from here on. A sink needs its directory again at the end, without capabilities: what it could not
 * do then, it must not be able to begin. */
static int open_file(void *context)
{
    move *all = context;
    transfer *work = &all->work;
    const sink_how how = transfer_sink_how(work, true);
    if (all->given->role == NETBLT_SENDER) {
        work->from = source_open(all->given->file, all->given->beyond_4g, &work->failure);
    } else {
        netblt_privileges_set_effective(false);
        work->to = sink_open(all->given->file, &how, &work->failure);
        netblt_privileges_set_effective(true);
    }
    all->directory = work->to != NULL ? sink_directory(work->to) : -1;
    all->net.reached = (sandbox_files){.fds = &all->directory, .count = all->directory >= 0, .writable = true};
    return work->from == NULL && work->to == NULL ? -1 : 0;
}

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

/* What netblt listen at the other end takes for the file's name, unless the user gives another. */
static void name_file(const char *file, netblt_params *params)
{
    const char *name = last_part(file);
    if (strcmp(file, "-") != 0 && strlen(name) <= NETBLT_STRING_MAX_BYTES)
        snprintf(params->client_string, sizeof params->client_string, "%s", name);
}

static int start_active(move *all)
{
    transfer *work = &all->work;
    netblt_params params;
    netblt_open_args args = {.role = work->role,
                             .params = &params,
                             .client = &transfer_client,
                             .context = work,
                             .options = transfer_options(work)};
    uint64_t size = work->from == NULL ? 0 : source_size(work->from);
    work->started_at = netblt_clock_now();
    if (all->given->path.measure && round_trip_measure(&all->net) != 0)
        return -1;
    if (all->net.interrupts.leave) /* meanwhile, by a signal or the network */
        return 0;
    if (parameters_propose(all->given, &all->net, size, &params, &work->failure) != 0)
        return -1;
    if (all->given->client_string == NULL)
        name_file(all->given->file, &params);
    return station_connect(&all->net, &args, &work->connection);
}

static int start_passive(move *all)
{
    char wanted[40];
    snprintf(wanted, sizeof wanted, "a %s", all->work.to != NULL ? "sender" : "receiver");
    return station_listen(&all->net, wanted, only_place_accept, &all->place);
}

/* ---- running -------------------------------------------------------------------------------------------------- */

static void show_progress(move *all)
{
    transfer *work = all->place.current;
    netblt_time now = netblt_clock_now();
    progress_view view;
    if (work->connection == NULL || !work->opened || now < report_progress_next())
        return;
    view = transfer_progress(work);
    view.name = last_part(work->name);
    report_progress(&view, now);
}

static void tend(void *context)
{
    transfer_tend(((move *)context)->place.current);
}

/* Before a connection there is nothing to draw, so nothing to wake up for. */
static netblt_time next(void *context)
{
    move *all = context;
    const transfer *work = all->place.current;
    if (transfer_is_over(work))
        return STATION_OVER;
    show_progress(all);
    return work->opened && !work->finished ? report_progress_next() : NETBLT_TIME_NEVER;
}

/* Without a peer, or when all is done, there is nothing to ask. While opening it is over at once. */
static enum interruption interrupted(void *context, bool again)
{
    move *all = context;
    only_place_settle(&all->place);
    if (!transfer_interrupt(all->place.current, again))
        return INTERRUPTION_NOBODY;
    return all->place.current->finished ? INTERRUPTION_ENDS : INTERRUPTION_ASKED;
}

static enum station_stage stage(const void *context)
{
    const move *all = context;
    const transfer *work = all->place.current;
    if (work->finished || work->closed)
        return STAGE_OTHER;
    return work->opened ? STAGE_OPEN : all->given->passive ? STAGE_OTHER : STAGE_OPENING;
}

static enum exit_code report(const move *all)
{
    summary end;
    enum exit_code code = transfer_judge(all->place.current, &end);
    if (code != EXIT_CODE_DONE)
        report_error("%s", end.reason);
    else if (!all->given->quiet && !all->given->json)
        summary_print_text(&end);
    if (all->given->json)
        report_object(summary_object(&end));
    return code;
}

enum exit_code command_move(const options *given)
{
    move all = {
        .given = given,
        .work = {.role = given->role, .name = given->file, .peer = given->host != NULL ? given->host : "the peer"}};
    const station_plan plan = {.open_files = open_file,
                               .interrupted = interrupted,
                               .stage = stage,
                               .tend = tend,
                               .next = next,
                               .peers = "the peer",
                               .failure = &all.work.failure,
                               .context = &all};
    enum exit_code code;
    all.work.net = &all.net;
    only_place_init(&all.place, given, &all.work);
    if (station_open(&all.net, given, &plan) == 0 && (given->passive ? start_passive(&all) : start_active(&all)) == 0)
        station_run(&all.net);
    report_progress_clear();
    code = report(&all);
    only_place_clear(&all.place);
    source_close(all.work.from);
    sink_close(all.work.to); /* its thread wakes the station */
    station_close(&all.net);
    return code;
}
