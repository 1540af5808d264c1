/* SPDX-License-Identifier: BSD-2-Clause */
/* The list of transfers of `netblt perf`, and their memory. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "cli/perf/perf.h"
#include "io/clock.h"

/* Transfers that are over and whose figures can still be requested. */
#define REMEMBERED_MAX 256

double perf_cpu_s(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

perf_run *perf_add_run(perf *all, enum perf_kind kind, enum netblt_role role)
{
    perf_run *run = calloc(1, sizeof *run);
    if (run == NULL)
        return NULL;
    run->work = (transfer){.net = &all->net, .role = role, .peer = run->peer, .started_at = netblt_clock_now()};
    run->all = all;
    run->kind = kind;
    run->validated = !all->given->passive;
    run->cpu_started_s = perf_cpu_s();
    TAILQ_INSERT_TAIL(&all->runs, run, place);
    return run;
}

void perf_remove_run(perf *all, perf_run *run)
{
    TAILQ_REMOVE(&all->runs, run, place);
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

/* A transfer of a validated peer, whose figures the peer may request. */
static bool is_measurement(const perf_run *run)
{
    return run->kind == PERF_DATA && run->validated;
}

void perf_remove_old(perf *all)
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
        if (!all->given->passive)
            netblt_driver_disown_port(all->net.driver, run->work.info.local_port);
        else if (data && kept <= REMEMBERED_MAX)
            continue;
        kept -= data;
        perf_remove_run(all, run);
    }
}

/* ---- memory ----------------------------------------------------------------------------------------------------- */

/* xorshift64: noise that no link layer compresses, at memory speed. */
static void fill_with_noise(uint8_t *bytes, size_t size)
{
    uint64_t state = 0x9e3779b97f4a7c15u;
    for (size_t i = 0; i + sizeof state <= size; i += sizeof state) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        memcpy(bytes + i, &state, sizeof state);
    }
}

/* Every page is there afterwards: the first access to memory may take a second, which belongs neither between
 * OPEN and RESPONSE nor into a measurement by time. */
int perf_make_memory(perf *all, perf_memory *memory, uint64_t size)
{
    void *bytes = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (bytes == MAP_FAILED)
        return netblt_fail(&all->failure, NETBLT_FAILURE_LOCAL, "not enough memory: choose a smaller --working-set");
    (void)madvise(bytes, size, MADV_HUGEPAGE); /* fewer TLB misses, where the kernel likes */
    fill_with_noise(bytes, size);
    *memory = (perf_memory){.bytes = bytes, .size = size};
    return 0;
}

void perf_free_memory(perf_memory *memory)
{
    if (memory->bytes != NULL)
        munmap(memory->bytes, memory->size);
}
