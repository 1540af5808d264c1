/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>

#include "cli/perf/perf.h"
#include "cli/transfer/parameters.h"
#include "io/clock.h"

#define TIME_MAX_S 86400

static void refuse(netblt_answer *answer, const char *reason)
{
    answer->accept = false;
    snprintf(answer->reason, sizeof answer->reason, "%s", reason);
}

static bool is_proven(const perf_run *run)
{
    netblt_info info;
    if (run->work.connection == NULL)
        return false;
    netblt_get_info(run->work.connection, &info);
    return !info.unvalidated;
}

/* Who has not proven itself takes no memory: forged OPENs leave room for others. */
static bool has_room(const perf *all)
{
    size_t open = 0;
    size_t proven = 0;
    perf_run *run;
    TAILQ_FOREACH(run, &all->runs, place) {
        open += !run->work.closed;
        proven += !run->work.closed && is_proven(run);
    }
    return open < PERF_RUNS_MAX && (proven + 1) * all->given->working_set.value <= PERF_MEMORY_MAX_BYTES;
}

/* What is sent: run->size and run->stop_at. False when the peer's wish makes no sense. */
static bool read_wish(perf_run *run, const netblt_request *request, netblt_time now)
{
    uint64_t value = 0;
    switch (perf_wish_read(request->proposed.client_string, &value)) {
    case PERF_WISH_SIZE:
        run->size = value;
        return value <= TRANSFER_MAX_BYTES;
    case PERF_WISH_TIME:
        run->size = TRANSFER_MAX_BYTES;
        run->stop_at = now + value * 1000000;
        return value > 0 && value <= TIME_MAX_S;
    case PERF_WISH_FIGURES:
        run->kind = PERF_FIGURES;
        run->wanted_id = (uint32_t)value;
        return perf_find(run->all, run->wanted_id) != NULL;
    default:
        return false;
    }
}

static void accept_run(perf *all, perf_run *run, const netblt_request *request, netblt_answer *answer)
{
    parameters_limit(all->given, run->work.role, &request->path, run->stop_at == 0 ? run->size : 0, &answer->limits);
    parameters_limit_memory(all->given->working_set.value, &answer->limits);
    answer->accept = true;
    answer->client = &perf_client;
    answer->context = run;
    answer->options = station_connection_options(&all->net, true);
    netblt_address_text(&request->path.foreign, run->peer);
    run->work.started_at = netblt_clock_now();
    run->cpu_started_s = perf_cpu_s();
}

void perf_accept(void *context, const netblt_request *request, netblt_answer *answer)
{
    perf *all = context;
    netblt_time now = netblt_clock_now();
    uint64_t count = all->given->count.value;
    perf_run *run;
    if (all->net.interrupts.count > 0) {
        refuse(answer, "shutting down");
        return;
    }
    if (!has_room(all)) {
        refuse(answer, "busy: try again later");
        return;
    }
    run = perf_run_new(all, PERF_DATA, request->role, false);
    if (run == NULL) {
        refuse(answer, "not enough memory");
        return;
    }
    if (run->work.role == NETBLT_SENDER && !read_wish(run, request, now)) {
        refuse(answer, "this end is netblt perf");
    } else if (run->kind == PERF_DATA && all->served >= count) {
        refuse(answer, "all were served: no more");
    } else {
        accept_run(all, run, request, answer);
        return;
    }
    perf_run_forget(all, run);
}
