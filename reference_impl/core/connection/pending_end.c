/* SPDX-License-Identifier: BSD-2-Clause */
/* Whether an ABORT, QUIT or REFUSED is to be believed: see pending_end.h. */
#include "connection/pending_end.h"

#include "connection/endpoint_state.h"
#include "connection/observe.h"
#include "security/guard.h"

#include <string.h>

/* In half a second a path carries what a live peer has to send, and a person who aborted does not wait for it. Three
 * round trips and two burst intervals where these are longer. */
#define WAIT_MIN_US UINT64_C(500000)
#define WAIT_MAX_US UINT64_C(5000000)
#define WAIT_ROUND_TRIPS 3
#define WAIT_BURST_INTERVALS 2
/* A quarter of the wait: reordering by more than that delays only the report (see die() in close.c). */
#define LISTEN_FROM_SHARE 4

static netblt_time round_trip_us(const netblt_connection *connection)
{
    if (!connection->started)
        return 0;
    return connection->role == NETBLT_SENDER ? (netblt_time)connection->sender.peer_control_timer_ms * 1000
                                             : connection->receiver.control_timer.smoothed_us;
}

static netblt_time wait_us(const netblt_connection *connection)
{
    netblt_time wait = WAIT_MIN_US;
    netblt_time trips = WAIT_ROUND_TRIPS * round_trip_us(connection);
    netblt_time bursts = WAIT_BURST_INTERVALS * (netblt_time)connection->agreed.burst_interval_ms * 1000;
    if (trips > wait)
        wait = trips;
    if (bursts > wait)
        wait = bursts;
    return wait < WAIT_MAX_US ? wait : WAIT_MAX_US;
}

/* A second one neither prolongs the wait nor silences this end again. */
static enum nb_end_belief begin_wait(netblt_connection *connection, enum nb_type type, const char *reason,
                                     netblt_time now)
{
    struct nb_pending_end *pending = &connection->pending_end;
    memcpy(pending->reason, reason, strlen(reason) + 1);
    pending->type = type;
    if (pending->waiting)
        return NB_END_WAITS;
    netblt_time wait = wait_us(connection);
    pending->waiting = true;
    pending->quiet = !pending->refuted;
    pending->listen_from = now + wait / LISTEN_FROM_SHARE;
    pending->until = now + wait;
    return NB_END_WAITS;
}

enum nb_end_belief nb_pending_end_decide(netblt_connection *connection, enum nb_type type, char *reason,
                                         netblt_time now)
{
    bool proven = nb_guard_take_proof(reason, connection->unique_id, type);
    if (!connection->endpoint->secret.known || proven)
        return NB_END_BELIEVED;
    if (connection->guarded) {
        nb_observe_dropped(connection->endpoint, connection, "it would end the connection and holds no proof");
        return NB_END_IGNORED;
    }
    return begin_wait(connection, type, reason, now);
}

void nb_pending_end_settle(netblt_connection *connection)
{
    connection->pending_end.waiting = false;
    connection->pending_end.quiet = false;
    connection->pending_end.until = NETBLT_TIME_NEVER;
}

void nb_pending_end_refute(netblt_connection *connection, netblt_time now)
{
    struct nb_pending_end *pending = &connection->pending_end;
    if (!pending->waiting || now < pending->listen_from)
        return;
    nb_pending_end_settle(connection);
    pending->refuted = true;
}

bool nb_pending_end_is_due(const netblt_connection *connection, netblt_time now)
{
    return connection->pending_end.waiting && now >= connection->pending_end.until;
}
