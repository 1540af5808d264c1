/* SPDX-License-Identifier: BSD-2-Clause */
/* netblt perf: sets up, begins transfers or accepts them, runs them in rounds, and ends. */
#include "cli/perf/perf.h"

#include <stdio.h>

#include "cli/transfer/parameters.h"
#include "io/clock.h"

/* Open at the same time at a passive end: a thousand measurements, and as many that ask for figures. */
#define RUNS_MAX 2048
/* After its last transfer a passive end waits so long for a peer that fetches the figures. */
#define LINGER_US 3000000
#define TIME_MAX_S 86400

/* ---- the active end --------------------------------------------------------------------------------------------- */

/* 0, or -1 with perf.failure. */
static int connect_run(perf *all, perf_run *run, const netblt_params *params)
{
    netblt_open_args args = {.role = run->work.role,
                             .params = params,
                             .client = &all->client,
                             .context = run,
                             .options = station_connection_options(&all->net, true)};
    snprintf(run->peer, sizeof run->peer, "%.*s", (int)sizeof run->peer - 1, all->given->host);
    if (station_connect(&all->net, &args, &run->work.connection) != 0)
        return -1;
    netblt_get_info(run->work.connection, &run->work.info);
    return 0;
}

static uint64_t seconds_left(const perf *all)
{
    netblt_time now = netblt_clock_now();
    return all->ends_at > now ? (all->ends_at - now + 999999) / 1000000 : 0;
}

/* `before` is the transfer that this one follows in its lane, or NULL. 0, or -1 with perf.failure. */
static int begin_transfer(perf *all, unsigned lane, const perf_run *before)
{
    const options *given = all->given;
    perf_run *run = perf_add_run(all, PERF_DATA, given->role);
    bool by_time = given->time_s.given;
    netblt_params params = all->params;
    if (run == NULL)
        return netblt_fail(&all->failure, NETBLT_FAILURE_LOCAL, "not enough memory");
    run->lane = lane;
    run->still_after = (unsigned)(before == NULL ? given->repeat.value : before->still_after) - 1;
    run->size = by_time ? TRANSFER_MAX_BYTES : given->size.value;
    run->stop_at = by_time ? all->ends_at : 0;
    params.transfer_size = by_time || given->role == NETBLT_RECEIVER ? 0 : run->size;
    if (by_time && before != NULL)
        perf_next_params(given, &before->work.info, &params);
    if (given->role == NETBLT_SENDER)
        perf_wish_write(PERF_WISH_TAKE, 0, params.client_string);
    else if (by_time)
        perf_wish_write(PERF_WISH_TIME, seconds_left(all), params.client_string);
    else
        perf_wish_write(PERF_WISH_SIZE, run->size, params.client_string);
    return connect_run(all, run, &params);
}

/* Fetches what the peer knows of `about`: a transfer of its own, outside of what is measured. */
static void ask_for_figures(perf *all, perf_run *about)
{
    perf_run *run = perf_add_run(all, PERF_FIGURES, NETBLT_RECEIVER);
    netblt_params params = all->params;
    about->asked = true;
    if (run == NULL)
        return;
    run->about = about;
    params.transfer_size = 0;
    params.buffer_size = PERF_FIGURES_BYTES;
    params.max_buffers = 1;
    perf_wish_write(PERF_WISH_FIGURES, about->work.info.unique_id, params.client_string);
    if (connect_run(all, run, &params) != 0)
        all->net.interrupts.leave = true;
}

static perf_run *find_asker(const perf *all, const perf_run *about)
{
    perf_run *run;
    TAILQ_FOREACH(run, &all->runs, place)
        if (run->about == about)
            return run;
    return NULL;
}

/* By time, only a transfer that came to its 4 GiB is followed by another: any other ended because its sender saw the
 * time end. */
static bool lane_goes_on(const perf *all, const perf_run *before)
{
    if (all->net.interrupts.count > 0 || all->code != EXIT_CODE_DONE)
        return false;
    if (all->given->time_s.given)
        return before->work.info.stats.payload_bytes >= TRANSFER_MAX_BYTES && netblt_clock_now() < all->ends_at;
    return before->still_after > 0;
}

/* A finished transfer: ask, report, and the lane's next one. */
static void tend_active_run(perf *all, perf_run *run)
{
    perf_run *asker = find_asker(all, run);
    if (!run->asked && run->work.outcome == NETBLT_DONE && !all->no_figures && all->net.interrupts.count == 0) {
        ask_for_figures(all, run);
        return;
    }
    if (asker != NULL && !asker->work.finished)
        return;
    if (asker != NULL && !run->others.known)
        all->no_figures = true;
    if (asker != NULL)
        asker->about = NULL;
    perf_report_run(all, run);
    if (lane_goes_on(all, run) && begin_transfer(all, run->lane, run) != 0)
        all->net.interrupts.leave = true;
}

/* All buffers that may be under way must fit, even if the user wants less. */
static uint64_t active_memory_bytes(const perf *all)
{
    uint64_t wanted = all->given->working_set.value;
    uint64_t needed = (uint64_t)all->params.buffer_size * all->params.max_buffers;
    return wanted > needed ? wanted : needed;
}

static int start_active(perf *all)
{
    perf_memory *memory = all->given->role == NETBLT_SENDER ? &all->sent : &all->received;
    if (all->given->path.measure && round_trip_measure(&all->net) != 0)
        return -1;
    if (all->net.interrupts.leave || all->net.interrupts.count > 0) /* meanwhile, by the network or a signal */
        return 0;
    if (parameters_propose(all->given, &all->net, NULL, 0, &all->params, &all->failure) != 0)
        return -1;
    if (all->given->role == NETBLT_RECEIVER && !all->given->buffer_size.given && !all->given->max_buffers.given)
        parameters_limit_unpaced(netblt_link_receive_buffer_bytes(all->net.link), &all->params);
    if (perf_make_memory(all, memory, active_memory_bytes(all)) != 0)
        return -1;
    all->began_at = netblt_clock_now();
    all->ends_at = all->began_at + all->given->time_s.value * 1000000;
    for (unsigned lane = 0; lane < all->given->parallel.value; lane++)
        if (begin_transfer(all, lane, NULL) != 0)
            return -1;
    return 0;
}

/* ---- the passive end -------------------------------------------------------------------------------------------- */

/* What is sent: run->size and run->stop_at. False when the peer's wish makes no sense. */
static bool read_wish(perf_run *run, const netblt_request *request)
{
    uint64_t value = 0;
    switch (perf_wish_read(request->proposed.client_string, &value)) {
    case PERF_WISH_SIZE:
        run->size = value;
        return value <= TRANSFER_MAX_BYTES;
    case PERF_WISH_TIME:
        run->size = TRANSFER_MAX_BYTES;
        run->stop_at = run->work.started_at + value * 1000000;
        return value > 0 && value <= TIME_MAX_S;
    case PERF_WISH_FIGURES:
        run->kind = PERF_FIGURES;
        run->wanted_id = (uint32_t)value;
        return perf_find(run->all, run->wanted_id) != NULL;
    default:
        return false;
    }
}

static const char *find_objection(perf *all, perf_run *run, const netblt_request *request)
{
    size_t open = 0;
    perf_run *other;
    TAILQ_FOREACH(other, &all->runs, place)
        open += !other->work.closed;
    if (all->net.interrupts.count > 0)
        return "shutting down";
    if (open > RUNS_MAX)
        return "busy: try again later";
    if (request->role == NETBLT_SENDER && !read_wish(run, request))
        return "this end is netblt perf";
    return run->kind == PERF_DATA && all->served >= all->given->count.value ? "all were served: no more" : NULL;
}

static void accept_run(void *context, const netblt_request *request, netblt_answer *answer)
{
    perf *all = context;
    perf_run *run = perf_add_run(all, PERF_DATA, request->role);
    const char *objection = run == NULL ? "not enough memory" : find_objection(all, run, request);
    answer->accept = objection == NULL;
    if (objection != NULL) {
        snprintf(answer->reason, sizeof answer->reason, "%s", objection);
        if (run != NULL)
            perf_remove_run(all, run);
        return;
    }
    parameters_limit(all->given, run->work.role, &request->path, run->stop_at == 0 ? run->size : 0, &answer->limits);
    parameters_limit_memory(all->given->working_set.value, &answer->limits);
    if (run->work.role == NETBLT_RECEIVER)
        parameters_limit_unpaced(netblt_link_receive_buffer_bytes(all->net.link), &answer->limits);
    answer->client = &all->client;
    answer->context = run;
    answer->options = station_connection_options(&all->net, true);
    netblt_address_text(&request->path.foreign, run->peer);
}

static int start_passive(perf *all)
{
    if (perf_make_memory(all, &all->sent, all->given->working_set.value) != 0 ||
        perf_make_memory(all, &all->received, all->given->working_set.value) != 0)
        return -1;
    return station_listen(&all->net, "a measurement", accept_run, all);
}

/* Peers whose figures were not yet known when they requested them. */
static void resume_waiting(perf *all)
{
    perf_run *run;
    TAILQ_FOREACH(run, &all->runs, place) {
        perf_run *about = run->waiting ? perf_find(all, run->wanted_id) : NULL;
        if (about != NULL && about->work.finished && run->work.connection != NULL && !run->work.finished) {
            run->waiting = false;
            netblt_resume(run->work.connection, netblt_clock_now());
        }
    }
}

/* ---- both ------------------------------------------------------------------------------------------------------- */

static void tend(void *context)
{
    perf *all = context;
    perf_run *run;
    TAILQ_FOREACH(run, &all->runs, place) {
        if (run->kind != PERF_DATA || run->reported || !run->work.finished)
            continue;
        if (!all->given->passive)
            tend_active_run(all, run);
        else if (run->validated)
            perf_report_run(all, run);
    }
    resume_waiting(all);
    perf_remove_old(all);
}

/* Forged peers are not waited for, except when all are to end anyway. */
static bool are_closed(const perf *all, bool only_validated)
{
    perf_run *run;
    TAILQ_FOREACH(run, &all->runs, place)
        if (!run->work.closed && (!only_validated || run->validated || run->kind == PERF_FIGURES))
            return false;
    return true;
}

static netblt_time next_of_transfers(perf *all, netblt_time now)
{
    if (!all->given->passive || all->net.interrupts.count > 0)
        return are_closed(all, false) ? STATION_OVER : NETBLT_TIME_NEVER;
    if (all->ended < all->given->count.value)
        return NETBLT_TIME_NEVER;
    if (all->linger_until == 0)
        all->linger_until = now + LINGER_US;
    if (now < all->linger_until)
        return all->linger_until;
    return are_closed(all, true) ? STATION_OVER : NETBLT_TIME_NEVER;
}

static netblt_time next(void *context)
{
    perf *all = context;
    netblt_time now = netblt_clock_now();
    netblt_time line_at = perf_lines_show(all, now);
    netblt_time next_at = next_of_transfers(all, now);
    return next_at < line_at ? next_at : line_at; /* STATION_OVER is the least of all times */
}

static enum interruption interrupted(void *context, bool again)
{
    perf *all = context;
    perf_run *run;
    TAILQ_FOREACH(run, &all->runs, place)
        (void)transfer_interrupt(&run->work, again);
    return INTERRUPTION_ASKED;
}

static enum station_stage stage(const void *context)
{
    const perf *all = context;
    perf_run *run;
    if (all->given->passive || all->ended > 0)
        return STAGE_OTHER;
    TAILQ_FOREACH(run, &all->runs, place)
        if (run->work.opened)
            return STAGE_OTHER;
    return STAGE_OPENING;
}

enum exit_code command_perf(const options *given)
{
    perf all = {
        .given = given, .client = perf_client(), .code = EXIT_CODE_DONE, .runs = TAILQ_HEAD_INITIALIZER(all.runs)};
    const station_plan plan = {.interrupted = interrupted,
                               .stage = stage,
                               .tend = tend,
                               .next = next,
                               .packets = perf_watch,
                               .peers = given->passive ? "all peers" : "the peer",
                               .failure = &all.failure,
                               .context = &all};
    enum exit_code code;
    if (station_open(&all.net, given, &plan) == 0) {
        perf_report_begin(&all);
        if ((given->passive ? start_passive(&all) : start_active(&all)) == 0)
            station_run(&all.net);
    }
    code = perf_report_end(&all);
    station_close(&all.net);
    for (perf_run *run = TAILQ_FIRST(&all.runs); run != NULL; run = TAILQ_FIRST(&all.runs))
        perf_remove_run(&all, run);
    perf_free_memory(&all.sent);
    perf_free_memory(&all.received);
    return code;
}
