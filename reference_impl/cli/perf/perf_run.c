/* SPDX-License-Identifier: BSD-2-Clause */
/* The list of transfers of `netblt perf`, and their memory. */
#include <stdlib.h>
#include <sys/resource.h>

#include "cli/perf/perf.h"

double perf_cpu_s(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)usage.ru_utime.tv_sec + (double)usage.ru_stime.tv_sec +
           ((double)usage.ru_utime.tv_usec + (double)usage.ru_stime.tv_usec) / 1e6;
}

perf_run *perf_run_new(perf *all, enum perf_kind kind, enum netblt_role role, bool active)
{
    perf_run *run = calloc(1, sizeof *run);
    if (run == NULL)
        return NULL;
    *run = (perf_run){.work = {.net = &all->net, .role = role, .active = active, .peer = run->peer},
                      .all = all,
                      .kind = kind,
                      .validated = active};
    TAILQ_INSERT_TAIL(&all->runs, run, place);
    return run;
}

void perf_run_forget(perf *all, perf_run *run)
{
    TAILQ_REMOVE(&all->runs, run, place);
    perf_run_strip(run);
    json_decref(run->intervals);
    free(run);
}

perf_run *perf_find(perf *all, uint32_t unique_id)
{
    perf_run *run;
    TAILQ_FOREACH(run, &all->runs, place)
        if (run->kind == PERF_DATA && run->work.opened && run->work.info.unique_id == unique_id)
            return run;
    return NULL;
}

size_t perf_memory_bytes(uint64_t wanted, const netblt_params *params)
{
    uint64_t needed = (uint64_t)params->buffer_size * params->max_buffers;
    return (size_t)(wanted > needed ? wanted : needed);
}

bool perf_run_equip(perf_run *run, const netblt_params *params)
{
    perf *all = run->all;
    uint64_t wanted = run->kind == PERF_DATA ? all->given->working_set.value : 0; /* figures are a few bytes */
    size_t size = perf_memory_bytes(wanted, params);
    if (all->spare_count > 0 && all->spare[all->spare_count - 1].size >= size) {
        run->memory = all->spare[--all->spare_count];
        return true;
    }
    return run->work.active ? perf_memory_new(&run->memory, size) : perf_memory_reserve(&run->memory, size);
}

void perf_run_strip(perf_run *run)
{
    perf *all = run->all;
    if (run->memory.bytes == NULL)
        return;
    run->memory.slot_bytes = 0;
    if (all->spare_count < PERF_RUNS_MAX && !run->memory.shared)
        all->spare[all->spare_count++] = run->memory;
    else
        perf_memory_free(&run->memory);
    run->memory = (perf_memory){.size = 0};
}
