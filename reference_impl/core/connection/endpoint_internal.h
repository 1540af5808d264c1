/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NETBLT_CORE_ENDPOINT_INTERNAL_H
#define NETBLT_CORE_ENDPOINT_INTERNAL_H

#include "connection/connection.h"
#include "connection/demux.h"
#include "connection/farewell.h"
#include "connection/gone.h"
#include "security/budget.h"
#include "security/guard.h"

#include <netblt/endpoint.h>

/* One host. Every public function runs between nb_enter() and nb_leave(); the outermost nb_leave() steps all
 * connections that were touched, schedules them anew, and only then frees those that have closed. So no pointer to a
 * connection dies while code that uses it is on the stack, whatever the client's callbacks call. */
struct netblt_endpoint {
    netblt_config config;
    struct nb_demux demux;
    struct nb_deadlines deadlines;
    struct nb_farewells farewells;
    struct nb_secret secret;
    struct nb_budget budget;
    struct nb_unvalidated_connections unvalidated;
    struct nb_gone gone;
    netblt_connection *ready_first; /* connections with packets to send, served in turn */
    netblt_connection *ready_last;
    netblt_connection *touched_first;
    netblt_connection *touched_last;
    netblt_connection *closed; /* by touched_next: to be freed */
    unsigned depth;
    netblt_time now;        /* the latest moment that a caller named */
    const uint8_t *arrived; /* the packet that is being taken in */
    size_t arrived_bytes;
};

/* Answers the time to go on with: never earlier than any that was named before. */
netblt_time nb_enter(netblt_endpoint *endpoint, netblt_time now);
void nb_leave(netblt_endpoint *endpoint);
/* Something happened to this connection: step it before the outermost call returns. */
void nb_touch(netblt_connection *connection);
/* A connection with its place in demux and deadlines, or NULL when memory is short. */
netblt_connection *nb_connection_new(netblt_endpoint *endpoint, const netblt_path *path, uint16_t local_port,
                                     uint16_t foreign_port);
/* Whether the client has the one callback that its role cannot do without. */
bool nb_client_fits(const netblt_client *client, enum netblt_role role);
/* Whether an announced size is beyond what RFC 998 allows and `options`, which may be NULL, do not (DATA-14). */
bool nb_too_long(uint64_t transfer_size, const netblt_options *options);
void nb_log(const netblt_endpoint *endpoint, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
