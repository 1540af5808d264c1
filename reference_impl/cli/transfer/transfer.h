/* SPDX-License-Identifier: BSD-2-Clause */
/* One transfer of netblt, from its first packet to its last: send and recv have one, listen has many. */
#ifndef NETBLT_CLI_TRANSFER_H
#define NETBLT_CLI_TRANSFER_H

#include <netblt/endpoint.h>

#include "cli/options/options.h"
#include "cli/report/report.h"
#include "cli/store/buffer_pool.h"
#include "cli/store/sink.h"
#include "cli/store/source.h"
#include "cli/transfer/station.h"

/* One transfer of a file, a stream or a step of a tree transfer. Parts:
 * transfer_client.c the core's client: buffers in and out
 * transfer_progress.c how far it is
 * transfer_end.c    what came of it: result, reason, exit code, figures */
typedef struct transfer transfer;
struct transfer {
    station *net;
    enum netblt_role role;
    const char *name;       /* the file, for people */
    const char *peer;       /* the remote end, for people */
    netblt_failure failure; /* what went wrong outside the protocol; kind NONE = nothing */
    source *from;           /* when sending */
    sink *to;               /* when receiving; NULL until it is needed */
    buffer_pool early;      /* receiving: the GO that validates the peer needs buffers before there is a sink */
    uint32_t early_bytes;   /* of each of them */
    unsigned lent;          /* receiving: buffers that the core has */
    bool offers_tree;       /* this end can do a tree transfer (docs/tree-transfer.md) */
    bool in_order;          /* receiving: the sink that it gets later takes buffers in their order */

    netblt_connection *connection; /* NULL before it is known and after it is closed */
    bool opened;
    bool finished; /* `outcome`, `info` and `reason` are final */
    bool closed;
    bool interrupted; /* a signal requested the end */
    enum netblt_result outcome;
    char reason[NETBLT_STRING_MAX_BYTES + 1];
    netblt_info info;
    netblt_time started_at;
    netblt_time finished_at;

    bool source_waits; /* the core requested bytes that have not come yet */
    bool sink_waits;   /* the core requested memory that is still being written */
    bool complete;     /* everything was delivered to the sink */
    bool committed;    /* the sink has stored it, and the sender may know */
    /* Receiving: whether only the first data are wanted so far, and the next may come for nothing: buffers are then
     * lent one by one. May be NULL. */
    bool (*holds_back)(const transfer *work);
    /* Receiving: called when the sink has stored everything, before the sender may know. False with transfer.failure:
     * the data are of no use. May be NULL. */
    bool (*approve)(transfer *work);
};

/* What came of a transfer. Keys and meanings: docs/netblt.md. */
typedef struct summary {
    const char *result; /* netblt_result_name(), or "local-error", "not-supported", "interrupted" */
    char reason[400];
    enum netblt_role role;
    bool active;
    const char *name; /* the file; NULL when there is none */
    bool was_opened;  /* info.negotiated counts */
    netblt_info info;
    uint64_t bytes;
    double seconds;                 /* from the first OPEN to the outcome */
    double steady_seconds;          /* from the first DATA packet to the last buffer */
    char sha256[DIGEST_TEXT_BYTES]; /* empty when the transfer did not succeed */
    uint64_t wire_bytes;

    /* A tree transfer, which may have taken several NETBLT transfers. */
    bool is_tree;
    bool resumed; /* something was at the receiver before */
    uint32_t files;
    unsigned transfers;
    uint64_t bytes_held;            /* of files that were, or are, at the receiver already */
    char blake3[DIGEST_TEXT_BYTES]; /* of a single file, as sha256; empty when there is none */
    json_t *sums;                   /* of each file, as far as they are known; NULL: none. Goes with summary_object() */
} summary;

/* These two: once the connection is open. */
/* Both ends can do a tree transfer: the data are those of one of its steps. */
static inline bool transfer_is_tree(const transfer *work)
{
    return (work->info.client_features & NETBLT_CLIENT_TREE) != 0;
}

/* The data are one file or stream, followed by its SHA-256. */
static inline bool transfer_ends_in_hash(const transfer *work)
{
    return (work->info.client_features & NETBLT_CLIENT_ENDS_IN_HASH) != 0 && !transfer_is_tree(work);
}

/* ---- transfer_client.c */
/* Its context is the transfer. */
extern const netblt_client transfer_client;
/* Gives the transfer the file that it sends or stores, before the first buffer: at once, or when it is needed. */
void transfer_set_source(transfer *work, source *from);
void transfer_set_sink(transfer *work, sink *to);
/* The core has no buffer of it any more. Also when there is none. */
void transfer_close_source(transfer *work);
/* How the core is to treat the transfer's connection. */
netblt_options transfer_options(const transfer *work);
/* How its file is to be stored. `replace`: a file of that name gives way. */
sink_how transfer_sink_how(const transfer *work, bool replace);
/* Twice in each round: moves streams on, gives up when file or stream failed, has the complete file stored and then
 * lets the sender know. */
void transfer_tend(transfer *work);
/* Nothing is left to do. */
bool transfer_is_over(const transfer *work);
/* The first time asks the peer for an orderly end (QUIT), `again` ends the connection at once (ABORT). False when
 * there is no peer. */
bool transfer_interrupt(transfer *work, bool again);

/* ---- transfer_progress.c */
/* How far a transfer with a connection is, with the transfer's own name. Reads the figures of the core into
 * transfer.info. */
progress_view transfer_progress(transfer *work);

/* ---- transfer_end.c */
/* Fills all of *end and returns the exit code. */
enum exit_code transfer_judge(const transfer *work, summary *end);
/* Fills a summary for what failed before there was a transfer. */
enum exit_code transfer_judge_failure(const options *given, const netblt_failure *failure, summary *end);
/* Reports such a failure on stderr and, with --json, as an object. */
enum exit_code transfer_report_failure(const options *given, const netblt_failure *failure);
/* 0 when one of them has not been. */
double transfer_seconds(netblt_time from, netblt_time to);
/* NULL when memory is short. */
json_t *summary_object(const summary *end);
json_t *summary_negotiated(const summary *end);
/* Two lines for people on stderr. Only for a transfer that succeeded. */
void summary_print_text(const summary *end);
/* Bits per second; 0 for no time. */
double summary_rate(uint64_t bytes, double seconds);

#endif
