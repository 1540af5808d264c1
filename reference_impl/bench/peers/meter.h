/* SPDX-License-Identifier: BSD-2-Clause */
/* Measurement that the programs of the other transports share. */
#ifndef NETBLT_BENCH_METER_H
#define NETBLT_BENCH_METER_H

/* What the memory-to-memory programs of the other transports share: the working set, and a receiver's account of what
 * came when. Written so that C and C++ can both include it. */
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

/* Larger than any cache, so that both ends read and write memory, as a real transfer does. */
#define WORKING_SET_BYTES ((size_t)72 << 20)
#define WRITE_BYTES ((size_t)1 << 20)
#define INTERVAL_MS 100
#define INTERVALS_MAX 36000 /* one hour */
#define MILESTONES 4

static volatile sig_atomic_t meter_stop;

static void meter_on_signal(int number)
{
    (void)number;
    meter_stop = 1;
}

/* SIGTERM and SIGINT end a receiver with its account; blocked system calls return. */
static inline void meter_take_signals(void)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = meter_on_signal;
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
}

/* Microseconds of CLOCK_MONOTONIC: one scale for all processes of this host. */
static inline uint64_t meter_now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000u + (uint64_t)now.tv_nsec / 1000u;
}

/* The working set, every page of it written once. Exits when memory is short. */
static inline char *meter_working_set(void)
{
    void *pages = mmap(NULL, WORKING_SET_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *set = (char *)pages;
    if (pages == MAP_FAILED) {
        fprintf(stderr, "no memory for a working set of %zu bytes\n", WORKING_SET_BYTES);
        exit(2);
    }
    (void)madvise(set, WORKING_SET_BYTES, MADV_HUGEPAGE); /* memory shall be slow, not its page tables */
    for (size_t i = 0; i < WORKING_SET_BYTES; i++)
        set[i] = (char)(i * 2654435761u >> 13);
    return set;
}

/* Bytes after which the time is noted: tools/bench compares completion times of transfers of these sizes. */
static const uint64_t meter_milestones[MILESTONES] = {100000, 1000000, 10000000, 100000000};

typedef struct meter {
    uint64_t first_us; /* the first bytes came */
    uint64_t last_us;
    uint64_t bytes;
    size_t reached;
    uint64_t reached_us[MILESTONES];
    size_t count;
    uint64_t intervals[INTERVALS_MAX]; /* bytes in each INTERVAL_MS since first_us */
} meter;

static inline void meter_add(meter *m, uint64_t bytes)
{
    m->last_us = meter_now_us();
    if (m->bytes == 0)
        m->first_us = m->last_us;
    m->bytes += bytes;
    while (m->reached < MILESTONES && m->bytes >= meter_milestones[m->reached])
        m->reached_us[m->reached++] = m->last_us;
    size_t index = (size_t)((m->last_us - m->first_us) / (INTERVAL_MS * 1000u));
    if (index < INTERVALS_MAX) {
        m->intervals[index] += bytes;
        if (m->count <= index)
            m->count = index + 1;
    }
}

/* One JSON object on one line. */
static inline void meter_print(const meter *m)
{
    printf("{\"bytes\": %" PRIu64 ", \"first_us\": %" PRIu64 ", \"last_us\": %" PRIu64
           ", \"interval_ms\": %d, \"intervals\": [",
           m->bytes, m->first_us, m->last_us, INTERVAL_MS);
    for (size_t i = 0; i < m->count; i++)
        printf("%s%" PRIu64, i == 0 ? "" : ", ", m->intervals[i]);
    printf("], \"reached_us\": [");
    for (size_t i = 0; i < m->reached; i++)
        printf("%s%" PRIu64, i == 0 ? "" : ", ", m->reached_us[i]);
    printf("]}\n");
    fflush(stdout);
}

#endif
