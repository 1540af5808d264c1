/* SPDX-License-Identifier: BSD-2-Clause */
/* The one place of `netblt send` and `recv` with --passive, and the peers that may get it.
 *
 * Any host can forge an OPEN, so several connections may be open: the first whose peer is validated gets the place, and
 * the others are aborted. A stream can be read only once: the first peer that requests its first buffer gets the place
 * at once. Between the steps of a tree transfer the place is free for connections of the same host. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/session/session.h"
#include "cli/transfer/parameters.h"
#include "cli/transfer/reasons.h"
#include "io/address.h"
#include "io/clock.h"

#define NEEDS_TREE "needs a peer with tree transfers" /* REFUSED has not much room */

/* ---- getting the place ------------------------------------------------------------------------------------------ */

/* The data go with the place, and the others go. */
static void take_place(step *winner)
{
    session *all = winner->all;
    netblt_time now = netblt_clock_now();
    step *following;
    all->current = winner;
    all->is_continued = true;
    all->peer = winner->work.info.path.foreign;
    if (!winner->work.finished)
        step_begin(winner);
    for (step *one = LIST_FIRST(&all->steps); one != NULL; one = following) {
        following = LIST_NEXT(one, entry);
        if (one != winner && one->work.connection != NULL && !one->work.finished)
            netblt_abort(one->work.connection, REASON_BUSY, now);
    }
}

static void validated(void *context, netblt_connection *connection)
{
    step *one = context;
    if (one->all->current == one)
        return;
    if (one->all->current != NULL)
        netblt_abort(connection, REASON_BUSY, netblt_clock_now());
    else
        take_place(one);
}

/* ---- buffers ---------------------------------------------------------------------------------------------------- */

/* Each peer that may get the place reads a file by itself. */
static void lend_source(step *one)
{
    session *all = one->all;
    netblt_failure ignored;
    source *copy;
    if (transfer_is_tree(&one->work))
        return; /* such a peer is validated before it asks for data */
    if (!session_files_can_repeat(&all->files)) {
        if (all->current == NULL)
            take_place(one);
        return;
    }
    copy = session_files_source(&all->files, &ignored);
    if (copy != NULL)
        transfer_set_source(&one->work, copy);
}

static enum netblt_send_buffer get_send_buffer(void *context, netblt_connection *connection, uint64_t index,
                                               uint32_t capacity, const uint8_t **data, uint32_t *length, bool *last)
{
    step *one = context;
    if (one->work.from == NULL)
        lend_source(one);
    return transfer_client.get_send_buffer(context, connection, index, capacity, data, length, last);
}

/* ---- the end of a connection --------------------------------------------------------------------------------------
 */

static bool is_alone(const step *one)
{
    const step *other;
    LIST_FOREACH(other, &one->all->steps, entry)
        if (other != one && !other->settled)
            return false;
    return true;
}

/* Whether this end of a peer that is not validated is that of the command. A short transfer to a foreign peer is over
 * before anything could validate it. A failure counts if no other peer may be the right one: a host that forges a
 * peer and its ABORT can end a command that waits for no particular peer. */
static bool ends_command(const step *one, enum netblt_result result)
{
    if (one->all->current != NULL)
        return false;
    if (result != NETBLT_DONE && one->all->is_continued)
        return false;
    switch (result) {
    case NETBLT_DONE:
        return true;
    case NETBLT_PEER_QUIT:
    case NETBLT_PEER_ABORTED:
    case NETBLT_LOCAL_ABORT: /* it malfunctions; where connections are ended to make room, there are others */
        return is_alone(one);
    case NETBLT_PEER_DEAD:
        return is_alone(one) && one->work.info.stats.packets_received > 1; /* more than an OPEN has come */
    default:
        return false;
    }
}

static void finished(void *context, netblt_connection *connection, const netblt_outcome *outcome)
{
    step *one = context;
    transfer_client.finished(context, connection, outcome);
    if (ends_command(one, outcome->result))
        take_place(one);
}

/* The session looks at the one that has the place, and frees it. */
static void closed(void *context, netblt_connection *connection)
{
    step *one = context;
    transfer_client.closed(context, connection);
    if (one->all->current != one && one->all->last != one)
        step_free(one);
}

void only_place_settle(session *all)
{
    step *one;
    LIST_FOREACH(one, &all->steps, entry)
        if (!one->settled && is_alone(one))
            break;
    if (all->current == NULL && one != NULL && !one->work.finished)
        take_place(one);
}

/* ---- the reply to an OPEN --------------------------------------------------------------------------------------- */

static enum netblt_role wanted_role(const session *all, const step_name *what)
{
    enum netblt_role role = all->given->role;
    if (what->kind != STEP_HELD)
        return role;
    return role == NETBLT_SENDER ? NETBLT_RECEIVER : NETBLT_SENDER;
}

static const char *find_objection(const session *all, const netblt_request *request, const step_name *what)
{
    bool can_do_trees = (request->client_features & NETBLT_CLIENT_TREE) != 0;
    if (all->current != NULL || all->over ||
        (all->is_continued && !netblt_address_same_host(&all->peer, &request->path.foreign)))
        return REASON_BUSY;
    if (request->role != wanted_role(all, what))
        return all->given->role == NETBLT_SENDER ? "this end sends, too" : "this end receives, too";
    return can_do_trees || all->files.is_one ? NULL : NEEDS_TREE;
}

/* A peer that cannot do tree transfers may use any text. */
static void read_step(const netblt_request *request, step_name *what)
{
    step_name_parse(request->proposed.client_string, what);
    if ((request->client_features & NETBLT_CLIENT_TREE) == 0)
        *what = (step_name){.kind = STEP_FIRST};
}

static void limit_first_buffer(step *one, netblt_params *limits)
{
    session *all = one->all;
    parameters_limit_first_buffer(all->first_bytes, limits);
    one->first_bytes = limits->buffer_size;
    all->first_bytes += one->first_bytes;
}

void only_place_accept(void *context, const netblt_request *request, netblt_answer *answer)
{
    session *all = context;
    const char *objection;
    step_name what;
    step *one;
    if (all->current != NULL && step_is_settled(all->current))
        settle_current(all); /* its end came with this OPEN */
    read_step(request, &what);
    objection = find_objection(all, request, &what);
    one = objection == NULL ? step_new(all, &what) : NULL;
    if (one == NULL) {
        answer->accept = false;
        snprintf(answer->reason, sizeof answer->reason, "%s", objection == NULL ? "not enough memory" : objection);
        return;
    }
    parameters_limit(all->given, one->work.role, &request->path, session_files_size(&all->files), &answer->limits);
    if (one->work.role == NETBLT_RECEIVER)
        parameters_limit_unpaced(netblt_link_receive_buffer_bytes(all->net.link), &answer->limits);
    limit_first_buffer(one, &answer->limits);
    answer->accept = true;
    answer->client = &all->client;
    answer->context = one;
    answer->options = transfer_options(&one->work);
}

void only_place_init(session *all)
{
    all->client.get_send_buffer = get_send_buffer;
    all->client.validated = validated;
    all->client.finished = finished;
    all->client.closed = closed;
}
