/* SPDX-License-Identifier: BSD-2-Clause */
/* netblt perf: the memory-to-memory test program of RFC 1030. Parts:
 * perf.c         the command: lanes of the active end, what the passive end answers
 * perf_run.c     the list of transfers, and their memory
 * perf_client.c  the core's client: one transfer, data or its figures
 * perf_report.c  tables and JSON
 * perf_lines.c   lines at regular intervals while data move
 * perf_words.c   the requests and figures that the two ends exchange
 * stopwatch.c    steady-state throughput */
#ifndef NETBLT_CLI_PERF_H
#define NETBLT_CLI_PERF_H

#include <sys/queue.h>

#include "cli/perf/perf_words.h"
#include "cli/perf/stopwatch.h"
#include "cli/transfer/transfer.h"

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

/* Memory that all transfers walk through again and again, buffer by buffer. It is larger than any cache, since data of
 * real programs comes from elsewhere. What arrives is never read, so that transfers may write over one another. */
typedef struct perf_memory {
    uint8_t *bytes;
    size_t size; /* at least one buffer */
} perf_memory;

struct perf;

/* A benchmark reads from these intervals what a transfer does once it has settled. */
#define PERF_INTERVAL_US 100000

/* One transfer. */
typedef struct perf_run {
    transfer work; /* first: the context of the core's client */
    struct perf *all;
    TAILQ_ENTRY(perf_run) place;
    enum perf_kind kind;
    unsigned lane;        /* of parallel ones, from 0 */
    unsigned still_after; /* active: transfers that the lane begins after this one, unless by time */
    char peer[NETBLT_ADDRESS_TEXT_BYTES];
    bool reported;
    bool validated; /* the peer; always, at an active end */
    bool asked;     /* active: for the peer's figures, or it need not be */
    double cpu_started_s;
    double cpu_s; /* of this process while the transfer lasted */
    stopwatch watch;

    /* data */
    uint64_t size;        /* bytes to send; a transfer by time: the most */
    netblt_time first_at; /* of a receiver: its first buffer was complete */
    netblt_time last_at;  /* its newest one was */
    json_t *intervals;    /* then: bytes of buffers completed in each PERF_INTERVAL_US since; NULL before */
    netblt_time stop_at;  /* a transfer by time: send nothing new from then on */
    perf_pace pace;       /* of a sender */
    perf_figures own;     /* what this end knows, once finished */
    perf_figures others;  /* what the peer reported; .known */
    uint64_t lined_bytes; /* these two: as of the last line of --interval */
    uint64_t lined_repeated;

    /* figures */
    struct perf_run *about;            /* the transfer that they are of */
    uint32_t wanted_id;                /* its unique ID, at the passive end */
    bool waiting;                      /* asked before that transfer was over */
    char text[PERF_FIGURES_BYTES + 1]; /* what does not come is NUL */
    uint32_t text_bytes;
} perf_run;

/* The lines of --interval: what all transfers together moved since the line before. */
typedef struct perf_lines {
    netblt_time every_us; /* 0: no lines */
    bool running;         /* a transfer is under way */
    bool sends;           /* which of these two figures there are to show */
    bool receives;
    netblt_time origin;  /* the zero of their time */
    netblt_time from;    /* where the next line begins */
    netblt_time next_at; /* when it ends */
    uint64_t bytes;
    uint64_t retransmitted;
    uint64_t resends;
} perf_lines;

typedef struct perf {
    const options *given;
    station net;
    netblt_client client;
    netblt_failure failure;
    TAILQ_HEAD(, perf_run) runs; /* all that are not yet forgotten, oldest first */
    perf_memory sent;            /* these two: an active end needs only one of them */
    perf_memory received;
    netblt_params params; /* proposed */
    netblt_time ends_at;  /* --time; NETBLT_TIME_NEVER without */
    netblt_time began_at;
    netblt_time linger_until; /* passive: served enough, some figures may still be fetched */
    bool no_figures;          /* the peer has none */
    uint64_t served;          /* passive: data transfers of validated peers */
    uint64_t ended;           /* data transfers reported */
    enum exit_code code;
    perf_lines lines;
    bool has_head;     /* the head of the table is above the next row */
    json_t *transfers; /* --json of the active end: all so far; else NULL */
    struct perf_totals {
        uint64_t bytes;
        uint64_t lost;
        uint64_t retransmitted;
        uint64_t data_timeouts;
        bool lost_unknown; /* these three: not all that the sum needs is known */
        bool retransmitted_unknown;
        bool data_timeouts_unknown;
        uint64_t wire_bytes;
    } totals;
} perf;

/* Prints what there is to print and returns the exit code. */
enum exit_code command_perf(const options *given);

/* ---- perf_run.c */
/* Nothing begun. NULL when memory is short. */
perf_run *perf_add_run(perf *all, enum perf_kind kind, enum netblt_role role);
void perf_remove_run(perf *all, perf_run *run);
/* Removes what is over; a passive end keeps the figures of the latest. */
void perf_remove_old(perf *all);
/* 0, or -1 with perf.failure. */
int perf_make_memory(perf *all, perf_memory *memory, uint64_t size);
void perf_free_memory(perf_memory *memory);
/* The data transfer with this unique ID, or NULL. */
perf_run *perf_find(perf *all, uint32_t unique_id);
double perf_cpu_s(void);

/* ---- perf_client.c */
netblt_client perf_client(void); /* its context is the perf_run */
/* netblt_tap_fn that feeds the stopwatches; the context is the perf. */
void perf_watch(void *context, const netblt_passing *passing);

/* ---- perf_lines.c */
void perf_lines_begin(perf *all);
/* Prints the line that is due. Returns when the next one is; NEVER while no transfer is under way. */
netblt_time perf_lines_show(perf *all, netblt_time now);
/* A transfer is over and about to be reported: after the last one, a line for the rest of the interval. */
void perf_lines_end_run(perf *all, perf_run *run);

/* ---- perf_report.c */
void perf_report_begin(perf *all);
/* One transfer is over. */
void perf_report_run(perf *all, perf_run *run);
/* All are. Answers the exit code. */
enum exit_code perf_report_end(perf *all);

#endif
