/* SPDX-License-Identifier: BSD-2-Clause */
/* An endpoint: what it remembers, its log, and the list of connections that something happened to. */
#ifndef NETBLT_CORE_ENDPOINT_STATE_H
#define NETBLT_CORE_ENDPOINT_STATE_H

#include "connection/connection.h"
#include "connection/demux.h"
#include "connection/stateless_reply.h"
#include "connection/time_wait.h"
#include "security/budget.h"
#include "security/guard.h"

#include <netblt/endpoint.h>

/* The unvalidated peers of an endpoint (validation.h). */
struct nb_unvalidated_connections {
    struct nb_list silent, talking; /* the oldest first */
    uint32_t count;
};

/* One host. Every public function runs between enter() and leave() of endpoint.c; the outermost leave() steps
 * all connections that were marked, schedules them again, and only then frees those that have closed. So no pointer to
 * a connection dies while code that uses it is on the stack, whatever the client's callbacks call. */
struct netblt_endpoint {
    netblt_allocator allocator;
    netblt_config config;
    struct nb_demux demux;
    struct nb_deadlines deadlines;
    struct nb_replies replies;
    struct nb_secret secret;
    struct nb_budget budget;
    struct nb_unvalidated_connections unvalidated;
    struct nb_time_wait time_wait;
    struct nb_list ready;  /* connections with packets to send, served in turn */
    struct nb_list marked; /* connections that something happened to */
    struct nb_list closed; /* connections that are to be freed */
    unsigned depth;
    netblt_time now;        /* the latest moment that a caller named */
    const uint8_t *arrived; /* the packet that is being taken in */
    size_t arrived_bytes;
};

NB_LIST_OF(nb_ready, netblt_connection, ready)
NB_LIST_OF(nb_marked, netblt_connection, marked) /* also for `closed` */
NB_LIST_OF(nb_unvalidated, netblt_connection, unvalidated.listed)

static inline const netblt_profile *nb_profile_of(const netblt_connection *connection)
{
    return connection->endpoint->config.profile;
}

/* Something happened to this connection: step it before the outermost call returns. */
void nb_mark(netblt_connection *connection);
/* Writes a line to the log of the client (netblt_config.log). */
void nb_log(const netblt_endpoint *endpoint, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
