/* SPDX-License-Identifier: BSD-2-Clause */
/* Carries packets between an endpoint and its link. */
#ifndef NETBLT_IO_DRIVER_H
#define NETBLT_IO_DRIVER_H

#include <netblt/endpoint.h>

#include "io/link.h"
#include "io/loop.h"

/* Joins one endpoint (no sockets, no clock) to one link and one loop: moves packets and time between them. */
typedef struct netblt_driver netblt_driver;

/* Borrows all three; they must outlive the driver. `report` hears of packets that the network sent back, for ports of
 * this process only. NULL with *failure. */
netblt_driver *netblt_driver_new(netblt_loop *loop, netblt_link *link, netblt_endpoint *endpoint,
                                 netblt_network_error_fn *report, void *context, netblt_failure *failure);
/* Releases the claims on ports. */
void netblt_driver_free(netblt_driver *driver);

/* Makes NETBLT port `port` of `address` (or of all, if it is a wildcard) this process's own: only packets for owned
 * ports reach the endpoint. A driver that owns a passive port also answers OPENs for ports that no process owns
 * (AMB-26). 0, or -1 with *failure: the port is in use. */
int netblt_driver_own_port(netblt_driver *driver, const netblt_address *address, uint16_t port, bool passive,
                           netblt_failure *failure);
/* The same for a free port that it chooses again each time (AMB-21). */
int netblt_driver_own_any_port(netblt_driver *driver, const netblt_address *address, uint16_t *port,
                               netblt_failure *failure);

/* Gives such a port up, once its connection is closed. */
void netblt_driver_disown_port(netblt_driver *driver, uint16_t port);

/* One round is a wait and a serve. Between them the client can act upon what arrived before any answer leaves, and
 * after them upon what timers did. Sleeps until a packet, a timer of the endpoint, something else watched in the loop,
 * or `until`; takes in what arrived. */
void netblt_driver_wait(netblt_driver *driver, netblt_time until);
/* Whether a wait from `begun` to `wake_at`, which may be NETBLT_TIME_NEVER, that ended at `now` took longer than it
 * should: then timers have expired whose packets still lie in the sockets. */
bool netblt_driver_was_held_up(netblt_time begun, netblt_time wake_at, netblt_time now);
/* When a packet arrived that is read `now` and that the kernel got at `noted` (0 = not known), for an endpoint that
 * knows the time `known` already. */
netblt_time netblt_driver_arrived_at(netblt_time noted, netblt_time known, netblt_time now);
/* How long a wait from `begun` sleeps: up to `wake_at`, when the endpoint's next burst or timer is due, or a little
 * less where that burst then starts more exactly. Not where the client wants to be back at `until` by then. */
netblt_time netblt_driver_asleep_until(netblt_time begun, netblt_time wake_at, netblt_time until);
/* Runs timers and sends what may leave. */
void netblt_driver_serve(netblt_driver *driver);
/* Sends what may leave now and does not wait: the last packets of a closed connection. */
void netblt_driver_flush(netblt_driver *driver);

/* Packets of one path that crossed the link: `segment_bytes` each, the last may be shorter. */
typedef struct netblt_passing {
    bool sent; /* else received */
    const netblt_path *path;
    const uint8_t *packets; /* valid during the call */
    size_t length;
    size_t segment_bytes;
    netblt_time at;
} netblt_passing;
typedef void netblt_tap_fn(void *context, const netblt_passing *passing);

/* `tap` sees every packet for this process's ports as it was sent or has arrived: for a capture file. NULL ends it. */
void netblt_driver_set_tap(netblt_driver *driver, netblt_tap_fn *tap, void *context);

/* Packets that this link carried for us since it was opened. */
typedef struct netblt_driver_counts {
    uint64_t packets_sent;
    uint64_t packets_lost; /* could not leave this host */
    uint64_t retries;      /* times that socket or interface were full */
} netblt_driver_counts;
netblt_driver_counts netblt_driver_get_counts(const netblt_driver *driver);

#endif
