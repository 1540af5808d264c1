/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/move.h"

#include <string.h>

#include "cli/commands.h"
#include "cli/confine.h"
#include "cli/parameters.h"
#include "cli/report.h"
#include "cli/round_trip.h"
#include "io/clock.h"
#include "io/privileges.h"

/* ---- starting ------------------------------------------------------------------------------------------------- */

/* A source is open from here on. A sink needs its directory again at the end, without capabilities: what it could not
 * do then, it must not be able to begin. */
static int open_file(move *all)
{
    transfer *work = &all->work;
    const sink_how how = transfer_sink_how(work, true);

    if (all->given->role == NETBLT_SENDER) {
        work->from = source_open(all->given->file, all->given->beyond_4g, &work->failure);
    } else {
        netblt_privileges_set_effective(false);
        work->to = sink_open(all->given->file, &how, &work->failure);
        netblt_privileges_set_effective(true);
    }
    return work->from == NULL && work->to == NULL ? -1 : 0;
}

/* What netblt listen at the other end takes for the file's name, unless the user gives another. */
static void name_file(const char *file, netblt_params *params)
{
    const char *slash = strrchr(file, '/');
    const char *name = slash == NULL ? file : slash + 1;

    if (strcmp(file, "-") != 0 && strlen(name) <= NETBLT_STRING_MAX_BYTES)
        snprintf(params->client_string, sizeof params->client_string, "%s", name);
}

static int start_active(move *all)
{
    transfer *work = &all->work;
    netblt_params params;
    const station_call call = {
        .role = work->role,
        .params = &params,
        .client = &transfer_client,
        .context = work,
        .any_order = work->to != NULL && sink_takes_any_order(work->to),
        .confirm_end = work->to != NULL,
        .ends_in_hash = true,
    };
    uint64_t size = work->from == NULL ? 0 : source_size(work->from);

    work->started_at = netblt_clock_now();
    if (all->given->path.measure && round_trip_measure(&all->net, &work->failure) != 0)
        return -1;
    if (all->stopped) /* meanwhile, by a signal or the network */
        return 0;
    if (parameters_propose(all->given, &all->net, size, &params, &work->failure) != 0)
        return -1;
    if (all->given->client_string == NULL)
        name_file(all->given->file, &params);
    return station_connect(&all->net, &call, &work->connection, &work->failure);
}

static int start_passive(move *all)
{
    char wanted[40];

    snprintf(wanted, sizeof wanted, "a %s", all->work.to != NULL ? "sender" : "receiver");
    return station_listen(&all->net, wanted, only_place_accept, &all->place, &all->work.failure);
}

static int confine_to_file(move *all)
{
    int directory = all->work.to != NULL ? sink_directory(all->work.to) : -1;

    return confine(&all->net, directory, true, &all->work.failure);
}

static int set_up(move *all)
{
    const station_events events = {
        .interrupted = move_interrupted, .network_error = move_network_error, .context = all};
    netblt_failure *failure = &all->work.failure;

    if (station_open(&all->net, all->given, failure) != 0 || station_find_peer(&all->net, failure) != 0 ||
        open_file(all) != 0 || station_watch_signals(&all->net, failure) != 0 ||
        station_start(&all->net, &events, failure) != 0 || confine_to_file(all) != 0)
        return -1;
    return all->given->passive ? start_passive(all) : start_active(all);
}

/* ---- running -------------------------------------------------------------------------------------------------- */

static void show_progress(move *all)
{
    transfer *work = all->place.current;
    const char *slash = strrchr(work->name, '/');
    progress_view view = {.name = slash == NULL ? work->name : slash + 1};
    netblt_time now = netblt_clock_now();

    if (work->connection == NULL || !work->opened || now < report_progress_next())
        return;
    if (!work->finished)
        netblt_get_info(work->connection, &work->info);
    view.bytes = work->info.stats.payload_bytes;
    view.total = work->info.negotiated.transfer_size;
    view.resent = work->from != NULL ? work->info.stats.data_packets_retransmitted : work->info.stats.resends_sent;
    view.resent_word = work->from != NULL ? "sent again" : "resends";
    report_progress(&view, now);
}

/* Before a connection there is nothing to draw, so nothing to wake up for. */
static netblt_time next_drawing(const move *all)
{
    const transfer *work = all->place.current;

    return work->opened && !work->finished ? report_progress_next() : NETBLT_TIME_NEVER;
}

static void tend(void *context)
{
    transfer_tend(((move *)context)->place.current);
}

static void run(move *all)
{
    while (!all->stopped && !transfer_is_over(all->place.current)) {
        station_round(&all->net, next_drawing(all), tend, all);
        show_progress(all);
    }
    netblt_driver_flush(all->net.driver);
    report_progress_clear();
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
    move all = {.given = given,
                .work = {.role = given->role,
                         .active = !given->passive,
                         .name = given->file,
                         .peer = given->host != NULL ? given->host : "the peer"}};
    enum exit_code code;

    all.work.net = &all.net;
    only_place_init(&all.place, given, &all.work);
    if (set_up(&all) == 0)
        run(&all);
    code = report(&all);
    only_place_clear(&all.place);
    source_close(all.work.from);
    sink_close(all.work.to); /* its thread wakes the station */
    station_close(&all.net);
    return code;
}
