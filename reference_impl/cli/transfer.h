/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NETBLT_CLI_TRANSFER_H
#define NETBLT_CLI_TRANSFER_H

#include <netblt/endpoint.h>

#include "cli/exit_code.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "cli/sink.h"
#include "cli/source.h"
#include "cli/summary.h"
#include "io/driver.h"
#include "io/route.h"

/* One transfer of the command line, from the first packet to the last word. Parts:
 * transfer.c        sets it up and runs it
 * transfer_client.c the core's client: buffers in and out
 * transfer_events.c what happens from outside: signals, errors from the network
 * transfer_end.c    what came of it: summary, message, exit code */
typedef struct transfer {
    const options *given;
    netblt_failure failure; /* what went wrong outside the protocol; kind NONE = nothing */

    netblt_loop *loop;
    netblt_link *link;
    netblt_driver *driver;
    netblt_endpoint *endpoint;
    source *from; /* when sending */
    sink *to;     /* when receiving */
    int signal_fd;
    progress bar;

    struct in_addr peer; /* active end only */
    netblt_route route;

    netblt_connection *connection; /* NULL before it is known and after it is closed */
    bool accepted;                 /* passive end: the one transfer has been promised */
    bool opened;
    bool finished; /* `outcome`, `info` and `reason` are final */
    bool closed;
    bool stopped; /* leave now, whatever the state */
    enum netblt_result outcome;
    char reason[NETBLT_STRING_MAX_BYTES + 1];
    netblt_info info;
    netblt_time started_at;
    netblt_time finished_at;

    bool source_waits; /* the core asked for bytes that have not come yet */
    bool committed;    /* the receiver's file has its name */

    unsigned signals;
    unsigned open_errors; /* ICMP errors that answered our OPENs */
    unsigned log_lines;   /* of the core, printed so far */
    int reported_error;   /* errno of the last one that the user was told of */
} transfer;

/* Does it all. Answers the exit code. */
enum exit_code transfer_do(const options *given);

/* ---- transfer_client.c */
extern const netblt_client transfer_client;
/* netblt_accept_fn of a passive end; the context is the transfer. */
void transfer_accept(void *context, const netblt_request *request, netblt_answer *answer);
/* Twice in each round: moves streams on, gives up when file or stream failed, gives the finished file its name. */
void transfer_tend_client(transfer *work);

/* ---- transfer_events.c */
/* 0, or -1 with transfer.failure. */
int transfer_watch_signals(transfer *work);
void transfer_network_error(void *context, const netblt_network_error *error);

/* ---- transfer_end.c */
/* Prints what there is to print, answers the exit code. */
enum exit_code transfer_report(transfer *work);
enum exit_code transfer_exit_code_of(const netblt_failure *failure);

/* One line on stderr, beginning with "netblt: "; takes the progress line away first. */
void transfer_say(transfer *work, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
