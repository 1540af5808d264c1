/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NETBLT_CLI_PERF_H
#define NETBLT_CLI_PERF_H

#include <sys/queue.h>

#include "cli/perf/perf_memory.h"
#include "cli/perf/perf_words.h"
#include "cli/perf/stopwatch.h"
#include "cli/transfer/transfer.h"

/* The memory-to-memory test program of RFC 1030. Parts:
 * perf.c         the command: lanes of the active end, the passive end
 * perf_run.c     the list of transfers, and their memory
 * perf_client.c  the core's client: one transfer, data or its figures
 * perf_accept.c  what the passive end answers
 * perf_report.c  tables and JSON
 * perf_memory.c  where data comes from and goes to
 * perf_words.c   what the two ends say to one another
 * stopwatch.c    steady-state throughput */

/* Open at the same time at a passive end: a thousand measurements, and as many that ask for figures. Each measurement
 * has its working set: 64 of the default size fit into the memory that they may have together. */
#define PERF_RUNS_MAX 2048
#define PERF_MEMORY_MAX_BYTES (UINT64_C(4) << 30)

/* What one transfer moves. */
enum perf_kind {
    PERF_DATA,
    PERF_FIGURES, /* the passive end's figures of an earlier transfer: a few hundred bytes */
};

/* How fast buffers were confirmed lately: a mark now and then, and the one before it. */
typedef struct perf_pace {
    netblt_time marked_at;
    uint64_t marked_bytes;
    netblt_time before_at;
    uint64_t before_bytes;
} perf_pace;

struct perf;

/* A benchmark reads from these intervals what a transfer does once it has settled. */
#define PERF_INTERVAL_US 100000

/* One transfer. */
typedef struct perf_run {
    transfer work; /* first: the context of the core's client */
    struct perf *all;
    TAILQ_ENTRY(perf_run) place;
    enum perf_kind kind;
    unsigned lane; /* of parallel ones, from 0 */
    char peer[NETBLT_ADDRESS_TEXT_BYTES];
    bool reported;
    bool validated; /* the peer; always, when active */
    bool starved;   /* there is no memory for its data */
    bool asked;     /* active: for the other end's figures, or it need not be */
    double cpu_started_s;
    double cpu_s; /* of this process while the transfer lasted */
    stopwatch watch;

    /* data */
    perf_memory memory;
    uint64_t size;        /* bytes to send; a transfer by time: the most */
    netblt_time first_at; /* of a receiver: its first buffer was complete */
    json_t *intervals;    /* then: bytes of buffers completed in each PERF_INTERVAL_US since; NULL before */
    netblt_time stop_at;  /* a transfer by time: send nothing new from then on */
    perf_pace pace;       /* of a sender */
    perf_figures own;     /* what this end knows, once finished */
    perf_figures others;  /* what the other end told; .known */

    /* figures */
    struct perf_run *about; /* the transfer that they are of */
    uint32_t wanted_id;     /* its unique ID, at the passive end */
    bool waiting;           /* asked before that transfer was over */
    char text[PERF_FIGURES_BYTES];
    uint32_t text_bytes;
} perf_run;

typedef struct perf {
    const options *given;
    station net;
    netblt_failure failure;
    TAILQ_HEAD(, perf_run) runs;      /* all that are not yet forgotten, oldest first */
    perf_memory spare[PERF_RUNS_MAX]; /* memory of transfers that are over, for the next */
    size_t spare_count;
    perf_memory pattern;  /* passive: what all its senders send */
    perf_memory scratch;  /* passive: where first buffers of all unvalidated peers go, over one another */
    netblt_params params; /* proposed */
    netblt_time ends_at;  /* --time; NETBLT_TIME_NEVER without */
    netblt_time began_at;
    netblt_time linger_until; /* passive: served enough, some figures may still be fetched */
    unsigned *lanes_left;     /* active: transfers that each lane has still to begin */
    bool no_figures;          /* the other end has none to give */
    uint64_t served;          /* passive: data transfers of validated peers */
    uint64_t ended;           /* data transfers reported */
    enum exit_code code;
    json_t *transfers; /* --json of the active end: all so far; else NULL */
    struct perf_totals {
        uint64_t transfers;
        uint64_t bytes;
        uint64_t lost;
        bool lost_known;
        uint64_t retransmitted;
        bool retransmitted_known;
        uint64_t data_timeouts;
        bool data_timeouts_known;
        uint64_t wire_bytes;
    } totals;
} perf;

/* Prints what there is to print and returns the exit code. */
enum exit_code command_perf(const options *given);

/* ---- perf_run.c */
/* Nothing begun. NULL when memory is short. */
perf_run *perf_run_new(perf *all, enum perf_kind kind, enum netblt_role role, bool active);
/* What its data take of the `wanted` bytes: all buffers that may be under way must fit, even if the user wants less. */
size_t perf_memory_bytes(uint64_t wanted, const netblt_params *params);
/* Memory for its data. A passive end's senders need none, since they share perf.pattern, and its receivers none until
 * their peer is validated: their first buffers go to perf.scratch. False when memory is short. */
bool perf_run_equip(perf_run *run, const netblt_params *params);
/* Gives its memory back for the next. */
void perf_run_strip(perf_run *run);
void perf_run_forget(perf *all, perf_run *run);
/* The data transfer with this unique ID, or NULL. */
perf_run *perf_find(perf *all, uint32_t unique_id);
double perf_cpu_s(void);

/* ---- perf_client.c */
extern const netblt_client perf_client; /* its context is the perf_run */
/* netblt_tap_fn that feeds the stopwatches; the context is the perf. */
void perf_watch(void *context, const netblt_passing *passing);

/* ---- perf_accept.c */
void perf_accept(void *context, const netblt_request *request, netblt_answer *answer);

/* ---- perf_report.c */
void perf_report_begin(perf *all);
/* One transfer is over. */
void perf_report_run(perf *all, perf_run *run);
/* All are. Answers the exit code. */
enum exit_code perf_report_end(perf *all);

#endif
