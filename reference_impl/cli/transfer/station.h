/* SPDX-License-Identifier: BSD-2-Clause */
/* Socket, endpoint, signals and records that all transfers of a command share. */
#ifndef NETBLT_CLI_STATION_H
#define NETBLT_CLI_STATION_H

#include <netblt/endpoint.h>

#include "cli/options/options.h"
#include "cli/process/signals.h"
#include "cli/records/capture.h"
#include "cli/records/qlog.h"
#include "io/driver.h"
#include "io/route.h"

/* This process's place in the network, which all its transfers share: socket, endpoint, signals, and who looks on
 * (capture file, event log). */

/* How far the transfers of a command are, for what the network says of them. */
enum station_stage {
    STAGE_OPENING, /* an error ends the command */
    STAGE_OPEN,    /* an error may pass */
    STAGE_OTHER,   /* no error matters: nothing was begun, or there are peers that an error does not concern */
};

/* What is special to a command. */
typedef struct station_plan {
    /* Opens its files and sets station.directory. NULL: it has none. 0, or -1 with *failure. */
    int (*open_files)(void *context);
    enum interruption (*interrupted)(void *context, bool again); /* signals.h */
    enum station_stage (*stage)(const void *context);            /* NULL: always STAGE_OTHER */
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
    int directory;       /* where files will still be opened, as an O_PATH descriptor; -1: nowhere */
    bool writable;       /* ... and written */
    netblt_address peer; /* active end only, and the next */
    netblt_route route;
    double round_trip_s;     /* to the peer, if it was measured (round_trip.h); 0 = not known */
    int wake_fd;             /* an eventfd: threads of this process have news, the next round looks for it */
    unsigned network_errors; /* heard of so far */
    unsigned open_errors;    /* ... that answered our OPENs */
    int reported_error;      /* errno of the last of them that the user was told of */
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

/* Opens a connection to options.host. Zero: as the options say. */
typedef struct station_call {
    enum netblt_role role;
    const netblt_params *params;
    const netblt_client *client;
    void *context;
    bool any_order;
    bool confirm_end;
    bool ends_in_hash;
    uint16_t foreign_port;
    netblt_time open_timeout_us;
} station_call;
/* 0, or -1 with *plan.failure. */
int station_connect(station *net, const station_call *call, netblt_connection **connection);
/* netblt_options for a connection of this process. */
netblt_options station_connection_options(const station *net, bool any_order);

/* Bytes of the largest IP packet towards the foreign end of `path` that travels whole. */
uint32_t station_mtu_towards(const netblt_path *path);
/* Of one packet of this process's connections: IP header, UDP header. */
size_t station_overhead_bytes(const options *given, const netblt_address *foreign);
/* The same before a peer is known. */
size_t station_overhead_to_peer(const station *net);

#endif
