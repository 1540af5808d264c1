/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/perf/perf.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "cli/transfer/parameters.h"
#include "cli/transfer/round_trip.h"
#include "cli/transfer/transfer.h"
#include "io/clock.h"

/* Transfers that are over and whose figures can still be asked for. */
#define REMEMBERED_MAX 256
/* After its last transfer a passive end waits so long for somebody to ask. */
#define LINGER_US 3000000
#define NO_MEMORY "not enough memory: choose a smaller --working-set"

/* ---- the active end --------------------------------------------------------------------------------------------- */

/* Touching memory for the first time may take a second, which belongs neither between OPEN and RESPONSE nor into a
 * measurement by time. 0, or -1 with perf.failure. */
static int prepare_memory(perf *all, unsigned runs, size_t size)
{
    while (all->spare_count < runs && all->spare_count < PERF_RUNS_MAX) {
        if (!perf_memory_new(&all->spare[all->spare_count], size))
            return netblt_fail(&all->failure, NETBLT_FAILURE_LOCAL, "%s", NO_MEMORY);
        all->spare_count++;
    }
    return 0;
}

static perf_run *connect_run(perf *all, perf_run *run, netblt_params *params)
{
    const station_call call = {
        .role = run->work.role, .params = params, .client = &perf_client, .context = run, .any_order = true};
    if (!perf_run_equip(run, params)) {
        netblt_fail(&all->failure, NETBLT_FAILURE_LOCAL, "%s", NO_MEMORY);
        return NULL;
    }
    snprintf(run->peer, sizeof run->peer, "%.*s", (int)sizeof run->peer - 1, all->given->host);
    run->work.started_at = netblt_clock_now();
    run->cpu_started_s = perf_cpu_s();
    if (station_connect(&all->net, &call, &run->work.connection) != 0)
        return NULL;
    netblt_get_info(run->work.connection, &run->work.info);
    return run;
}

static uint64_t seconds_left(const perf *all)
{
    netblt_time now = netblt_clock_now();
    return all->ends_at > now ? (all->ends_at - now + 999999) / 1000000 : 0;
}

/* `before` is the transfer that this one continues by time, or NULL. 0, or -1 with perf.failure. */
static int begin_transfer(perf *all, unsigned lane, const perf_run *before)
{
    const options *given = all->given;
    perf_run *run = perf_run_new(all, PERF_DATA, given->role, true);
    bool by_time = given->time_s.given;
    netblt_params params = all->params;
    if (run == NULL)
        return netblt_fail(&all->failure, NETBLT_FAILURE_LOCAL, "not enough memory");
    run->lane = lane;
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
    return connect_run(all, run, &params) == NULL ? -1 : 0;
}

/* Fetches what the other end knows of `about`: a transfer of its own, outside of what is measured. */
static void ask_for_figures(perf *all, perf_run *about)
{
    perf_run *run = perf_run_new(all, PERF_FIGURES, NETBLT_RECEIVER, true);
    netblt_params params = all->params;
    about->asked = true;
    if (run == NULL)
        return;
    run->about = about;
    params.transfer_size = 0;
    params.buffer_size = PERF_FIGURES_BYTES;
    params.max_buffers = 1;
    perf_wish_write(PERF_WISH_FIGURES, about->work.info.unique_id, params.client_string);
    if (connect_run(all, run, &params) == NULL)
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

/* `before` is the lane's last transfer, NULL for none. By time, only one that came to its 4 GiB is followed by another:
 * any other ended because its sender saw the time end. */
static bool lane_goes_on(const perf *all, unsigned lane, const perf_run *before)
{
    if (all->net.interrupts.count > 0 || all->code != EXIT_CODE_DONE)
        return false;
    if (all->given->time_s.given)
        return before == NULL ||
               (before->work.info.stats.payload_bytes >= TRANSFER_MAX_BYTES && netblt_clock_now() < all->ends_at);
    return all->lanes_left[lane] > 0;
}

static void go_on(perf *all, unsigned lane, const perf_run *before)
{
    if (!lane_goes_on(all, lane, before))
        return;
    if (!all->given->time_s.given)
        all->lanes_left[lane]--;
    if (begin_transfer(all, lane, before) != 0)
        all->net.interrupts.leave = true;
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
    go_on(all, run->lane, run);
}

static int start_active(perf *all)
{
    unsigned lanes = (unsigned)all->given->parallel.value;
    if (all->given->path.measure && round_trip_measure(&all->net) != 0)
        return -1;
    if (all->net.interrupts.leave) /* meanwhile, by the network */
        return 0;
    if (parameters_propose(all->given, &all->net, 0, &all->params, &all->failure) != 0)
        return -1;
    if (prepare_memory(all, lanes, perf_memory_bytes(all->given->working_set.value, &all->params)) != 0)
        return -1;
    all->began_at = netblt_clock_now();
    all->lanes_left = calloc(lanes, sizeof *all->lanes_left);
    if (all->lanes_left == NULL)
        return netblt_fail(&all->failure, NETBLT_FAILURE_LOCAL, "not enough memory");
    for (unsigned lane = 0; lane < lanes; lane++)
        all->lanes_left[lane] = (unsigned)all->given->repeat.value;
    all->ends_at = all->began_at + all->given->time_s.value * 1000000;
    for (unsigned lane = 0; lane < lanes && !all->net.interrupts.leave; lane++)
        go_on(all, lane, NULL);
    return all->net.interrupts.leave ? -1 : 0;
}

/* ---- both ------------------------------------------------------------------------------------------------------- */

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

/* A transfer of a validated peer, whose figures somebody may want. */
static bool is_measurement(const perf_run *run)
{
    return run->kind == PERF_DATA && run->validated;
}

/* Forgets what is over; a passive end keeps the figures of the latest. */
static void forget_old(perf *all)
{
    size_t kept = 0;
    perf_run *next;
    perf_run *run;
    TAILQ_FOREACH(run, &all->runs, place)
        kept += run->work.closed && is_measurement(run);
    for (run = TAILQ_FIRST(&all->runs); run != NULL; run = next) {
        bool data = is_measurement(run);
        next = TAILQ_NEXT(run, place);
        if (!run->work.closed || (data && !run->reported) || run->about != NULL)
            continue;
        if (run->work.active)
            netblt_driver_disown_port(all->net.driver, run->work.info.local_port);
        perf_run_strip(run);
        if (data && !run->work.active && kept <= REMEMBERED_MAX)
            continue;
        kept -= data;
        perf_run_forget(all, run);
    }
}

/* A passive end's transfer counts once its peer is validated: forged OPENs must not use up --count. Peers may have been
 * accepted at the same time when only one more was to be served: then the first to be validated is. */
static void note_validation(perf *all, perf_run *run)
{
    netblt_info info = {.unvalidated = true};
    if (run->validated)
        return;
    if (run->work.connection != NULL && !run->work.finished)
        netblt_get_info(run->work.connection, &info);
    run->validated = !info.unvalidated || (run->work.finished && run->work.outcome == NETBLT_DONE);
    if (!run->validated)
        return;
    all->served++;
    if (all->served > all->given->count.value && !run->work.finished)
        netblt_abort(run->work.connection, "all were served: no more", netblt_clock_now());
}

static void tend_passive_run(perf *all, perf_run *run)
{
    note_validation(all, run);
    if (run->starved && run->work.connection != NULL && !run->work.finished)
        netblt_abort(run->work.connection, "not enough memory", netblt_clock_now());
    if (run->work.finished && run->validated)
        perf_report_run(all, run);
}

static void tend(void *context)
{
    perf *all = context;
    perf_run *run;
    TAILQ_FOREACH(run, &all->runs, place) {
        if (run->kind != PERF_DATA || run->reported)
            continue;
        if (!run->work.active)
            tend_passive_run(all, run);
        else if (run->work.finished)
            tend_active_run(all, run);
    }
    resume_waiting(all);
    forget_old(all);
}

static bool all_closed(const perf *all)
{
    perf_run *run;
    TAILQ_FOREACH(run, &all->runs, place)
        if (!run->work.closed)
            return false;
    return true;
}

/* Nobody waits for forged peers to die. */
static bool all_validated_closed(const perf *all)
{
    perf_run *run;
    TAILQ_FOREACH(run, &all->runs, place)
        if (!run->work.closed && (run->validated || run->kind == PERF_FIGURES))
            return false;
    return true;
}

static bool is_over(perf *all)
{
    if (!all->given->passive || all->net.interrupts.count > 0)
        return all_closed(all);
    if (all->ended < all->given->count.value)
        return false;
    if (all->linger_until == 0)
        all->linger_until = netblt_clock_now() + LINGER_US;
    return netblt_clock_now() >= all->linger_until && all_validated_closed(all);
}

static netblt_time next(void *context)
{
    perf *all = context;
    if (is_over(all))
        return STATION_OVER;
    return all->linger_until != 0 ? all->linger_until : NETBLT_TIME_NEVER;
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

static int start_passive(perf *all)
{
    if (prepare_memory(all, 1, all->given->working_set.value) != 0)
        return -1;
    if (!perf_memory_new(&all->pattern, all->given->working_set.value) ||
        !perf_memory_reserve(&all->scratch, all->given->working_set.value))
        return netblt_fail(&all->failure, NETBLT_FAILURE_LOCAL, "%s", NO_MEMORY);
    return station_listen(&all->net, "a measurement", perf_accept, all);
}

static int start(perf *all)
{
    perf_report_begin(all);
    all->began_at = netblt_clock_now();
    return all->given->passive ? start_passive(all) : start_active(all);
}

static void tear_down(perf *all)
{
    station_close(&all->net);
    while (!TAILQ_EMPTY(&all->runs))
        perf_run_forget(all, TAILQ_FIRST(&all->runs));
    while (all->spare_count > 0)
        perf_memory_free(&all->spare[--all->spare_count]);
    perf_memory_free(&all->pattern);
    perf_memory_free(&all->scratch);
    free(all->lanes_left);
}

enum exit_code command_perf(const options *given)
{
    perf *all = calloc(1, sizeof *all);
    enum exit_code code;
    station_plan plan = {
        .interrupted = interrupted, .stage = stage, .tend = tend, .next = next, .packets = perf_watch, .context = all};
    if (all == NULL)
        return EXIT_CODE_LOCAL;
    plan.failure = &all->failure;
    plan.peers = given->passive ? "all peers" : "the peer";
    all->given = given;
    all->code = EXIT_CODE_DONE;
    TAILQ_INIT(&all->runs);
    if (station_open(&all->net, given, &plan) == 0 && start(all) == 0)
        station_run(&all->net);
    code = perf_report_end(all);
    tear_down(all);
    free(all);
    return code;
}
