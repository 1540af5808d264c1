/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NETBLT_CLI_STATION_H
#define NETBLT_CLI_STATION_H

#include <netblt/endpoint.h>

#include "cli/capture.h"
#include "cli/options.h"
#include "cli/qlog.h"
#include "io/driver.h"
#include "io/route.h"

/* This process's place in the network, which all its transfers share: socket, endpoint, signals, and who looks on
 * (capture file, event log). Each command begins with
 *
 *     station_open      the sockets, then no privileges but those that open files
 *     (files and names)
 *     station_start     address, endpoint, signals
 *     confine           nothing any more but what moving data takes (confine.h)
 *     station_connect or station_listen
 *     station_round     again and again */

/* What a command wants to hear of. Each may be NULL. */
typedef struct station_events {
    void (*interrupted)(void *context, unsigned count); /* the count-th signal has come */
    netblt_network_error_fn *network_error;
    netblt_event_fn *event;
    netblt_tap_fn *packets; /* as they cross the link */
    void *context;
} station_events;

typedef struct station {
    const options *given;
    station_events events;
    netblt_loop *loop;
    netblt_link *link;
    netblt_driver *driver;
    netblt_endpoint *endpoint;
    capture *pcap;
    qlog *log;
    netblt_address peer; /* active end only, and the next */
    netblt_route route;
    double round_trip_s; /* to the peer, if it was measured (round_trip.h); 0 = not known */
    int signal_fd;
    int wake_fd;             /* an eventfd: threads of this process have news, the next round looks for it */
    unsigned signals;        /* taken so far */
    unsigned network_errors; /* heard of so far */
    unsigned log_lines;      /* of the core, printed so far */
} station;

/* Each answers 0, or -1 with *failure. */
int station_open(station *net, const options *given, netblt_failure *failure);
/* Looks up options.host and the way to it. Nothing to do for a passive end. */
int station_find_peer(station *net, netblt_failure *failure);
/* From here on signals are the station's. */
int station_watch_signals(station *net, netblt_failure *failure);
int station_start(station *net, const station_events *events, netblt_failure *failure);
/* `whom` it waits for is for people. */
int station_listen(station *net, const char *whom, netblt_accept_fn *accept, void *context, netblt_failure *failure);
/* Closes everything, flushes capture and log. Failures of the latter are told on stderr. */
void station_close(station *net);

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
int station_connect(station *net, const station_call *call, netblt_connection **connection, netblt_failure *failure);
/* netblt_options for a connection of this process. */
netblt_options station_connection_options(const station *net, bool any_order);

/* Waits, moves packets and time; `tend` is called when packets have come, and when timers have run. */
void station_round(station *net, netblt_time until, void (*tend)(void *context), void *context);

/* Bytes of the largest IP packet towards the foreign end of `path` that travels whole. */
uint32_t station_mtu_towards(const netblt_path *path);
/* Of one packet of this process's connections: IP header, UDP header. */
size_t station_overhead_bytes(const options *given, const netblt_address *foreign);
/* The same before a peer is known. */
size_t station_overhead_to_peer(const station *net);

#endif
