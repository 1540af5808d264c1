/* SPDX-License-Identifier: BSD-2-Clause */
/* Socket, endpoint, signals and records that all transfers of a command share. */
#ifndef NETBLT_CLI_STATION_H
#define NETBLT_CLI_STATION_H

#include <netblt/endpoint.h>

#include "cli/options/options.h"
#include "cli/process/sandbox.h"
#include "cli/process/signals.h"
#include "cli/records/records.h"
#include "io/driver.h"
#include "io/route.h"

/* This process's place in the network, which all its transfers share: socket, endpoint, signals, and who looks on
 * (capture file, event log). */

/* How far the transfers of a command are, for errors of the network. */
enum station_stage {
    STAGE_OPENING, /* an error ends the command */
    STAGE_OPEN,    /* an error may pass */
    STAGE_OTHER,   /* no error matters: nothing was begun, or there are peers that an error does not concern */
};

/* What is special to a command. */
typedef struct station_plan {
    /* Opens its files and sets station.reached. NULL: it has none. 0, or -1 with *failure. */
    int (*open_files)(void *context);
    enum interruption (*interrupted)(void *context, bool again); /* signals.h */
    enum station_stage (*stage)(const void *context);            /* NULL: always STAGE_OTHER */
    /* There is no way to the peer now, or its name cannot be looked up: waits, and returns whether to try again. May be
     * NULL: not. */
    bool (*wait_for_way)(void *context, const netblt_failure *failure);
    /* Called when packets have come, and when timers have run. */
    void (*tend)(void *context);
    /* When the next round is due; STATION_OVER: all is done. */
    netblt_time (*next)(void *context);
    netblt_tap_fn *packets;  /* as they cross the link; may be NULL */
    const char *peers;       /* whom the command talks to, for people */
    netblt_failure *failure; /* where goes what ends the command */
    void *context;
} station_plan;

#define STATION_OVER 0

typedef struct station {
    const options *given;
    station_plan plan;
    netblt_loop *loop;
    netblt_link *link;
    netblt_driver *driver;
    netblt_endpoint *endpoint;
    capture *pcap;
    qlog *log;
    signals interrupts;
    sandbox_files reached; /* what will still be opened */
    netblt_address peer;   /* active end only, and the next */
    netblt_route route;
    double round_trip_s;     /* to the peer, if it was measured (round_trip.c); 0 = not known */
    int wake_fd;             /* an eventfd: threads of this process have news, the next round looks for it */
    unsigned network_errors; /* reported so far */
    unsigned open_errors;    /* ... that answered our OPENs */
    int reported_error;      /* errno of the last of them that the user has seen */
    unsigned log_lines;      /* of the core, printed so far */
} station;

/* Sets everything up: the sockets, then no privileges but those that open files; the peer's address and the command's
 * files; signals and the endpoint; then nothing any more but what moving data takes (sandbox.h). 0, or -1 with
 * *plan->failure. */
int station_open(station *net, const options *given, const station_plan *plan);
/* Rounds until all is done or station.interrupts.leave. */
void station_run(station *net);
/* Waits once, moves packets and time. */
void station_round(station *net, netblt_time until);
/* Closes everything, flushes capture and log. Failures of the latter are reported. */
void station_close(station *net);

/* `whom` it waits for is for people. 0, or -1 with *plan.failure. */
int station_listen(station *net, const char *whom, netblt_accept_fn *accept, void *context);

/* Opens a connection to options.host: fills in size, path, local port and unique ID, and the port of the options where
 * `args` names no foreign port. 0, or -1 with *plan.failure. */
int station_connect(station *net, netblt_open_args *args, netblt_connection **connection);
/* netblt_options for a connection of this process. */
netblt_options station_connection_options(const station *net, bool any_order);

/* ---- round_trip.c */
/* --path measure: how far away is the peer? Sets station.round_trip_s, before the transfer is opened, because what is
 * to be sized with it is proposed in its OPEN. An OPEN for a port at which no process waits makes a passive end answer
 * REFUSED at once; RFC 998 does not oblige it to, so a peer that stays silent costs a bounded time, and nothing is
 * known. 0, or -1 with *station.plan.failure. A signal or an error from the network ends it early; both were reported
 * before. */
int round_trip_measure(station *net);

#endif
