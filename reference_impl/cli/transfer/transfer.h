/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NETBLT_CLI_TRANSFER_H
#define NETBLT_CLI_TRANSFER_H

#include <netblt/endpoint.h>

#include "cli/options/options.h"
#include "cli/report/report.h"
#include "cli/store/buffer_pool.h"
#include "cli/store/sink.h"
#include "cli/store/source.h"
#include "cli/transfer/station.h"
#include "cli/transfer/summary.h"

/* One file on its way, from the first packet to the last word: send and recv have one (move.c), listen has many
 * (serve.c). Parts:
 * transfer_client.c the core's client: buffers in and out
 * transfer_end.c    what came of it: result, reason, exit code, figures */
typedef struct transfer {
    station *net;
    enum netblt_role role;
    bool active;
    const char *name;       /* the file, for people */
    const char *peer;       /* the other end, for people */
    netblt_failure failure; /* what went wrong outside the protocol; kind NONE = nothing */
    source *from;           /* when sending */
    sink *to;               /* when receiving; NULL until it is needed */
    buffer_pool early;      /* receiving: the GO that validates the peer needs buffers before there is a sink */
    uint32_t early_bytes;   /* of each of them */

    netblt_connection *connection; /* NULL before it is known and after it is closed */
    bool opened;
    bool finished; /* `outcome`, `info` and `reason` are final */
    bool closed;
    bool interrupted; /* a signal asked for the end */
    enum netblt_result outcome;
    char reason[NETBLT_STRING_MAX_BYTES + 1];
    netblt_info info;
    netblt_time started_at;
    netblt_time finished_at;

    bool source_waits; /* the core asked for bytes that have not come yet */
    bool sink_waits;   /* the core asked for memory that is still being written */
    bool complete;     /* everything was delivered to the sink */
    bool committed;    /* the sink has stored it, and the sender may know */
} transfer;

/* ---- transfer_client.c */
/* Its context is the transfer. */
extern const netblt_client transfer_client;
/* Gives the transfer the file that it sends or stores, before the first buffer: at once, or when it is needed. */
void transfer_set_source(transfer *work, source *from);
void transfer_set_sink(transfer *work, sink *to);
/* How the core is to treat the transfer's connection. */
netblt_options transfer_options(const transfer *work);
/* How its file is to be stored. `replace`: a file of that name gives way. */
sink_how transfer_sink_how(const transfer *work, bool replace);
/* Twice in each round: moves streams on, gives up when file or stream failed, has the complete file stored and then
 * lets the sender know. */
void transfer_tend(transfer *work);
/* Nothing is left to do. */
bool transfer_is_over(const transfer *work);
/* The first time asks the peer for an orderly end (QUIT), `again` tells it that we are gone (ABORT). False when there
 * is nobody to ask. */
bool transfer_interrupt(transfer *work, bool again);

/* ---- transfer_end.c */
/* Fills all of *end and answers the exit code. */
enum exit_code transfer_judge(const transfer *work, summary *end);
enum exit_code transfer_exit_code_of(const netblt_failure *failure);
/* Fills a summary for what failed before there was a transfer. */
enum exit_code transfer_judge_failure(const options *given, const netblt_failure *failure, summary *end);
/* 0 when one of them has not been. */
double transfer_seconds(netblt_time from, netblt_time to);

#endif
