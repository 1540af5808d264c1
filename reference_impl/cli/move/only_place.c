/* SPDX-License-Identifier: BSD-2-Clause */
/* Candidates for the one place of a passive end, and how one of them gets it: see only_place.h. */
#include "cli/move/only_place.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/transfer/parameters.h"
#include "io/clock.h"

#define BUSY "busy with another transfer"
struct candidate {
    transfer work; /* first: the context of the core's client */
    only_place *place;
    LIST_ENTRY(candidate) entry;
    uint64_t first_bytes;
};

/* ---- getting the place ------------------------------------------------------------------------------------------ */

static bool is_taken(const only_place *place)
{
    return place->current != place->file;
}

static bool has_place(const struct candidate *one)
{
    return one->place->current == &one->work;
}

/* The file goes with the place, and the others go. */
static void take_place(struct candidate *winner)
{
    only_place *place = winner->place;
    netblt_time now = netblt_clock_now();
    struct candidate *one;
    if (place->file->to != NULL)
        transfer_set_sink(&winner->work, place->file->to);
    else if (winner->work.from == NULL)
        transfer_set_source(&winner->work, place->file->from);
    place->current = &winner->work;
    LIST_FOREACH(one, &place->candidates, entry)
        if (one != winner && one->work.connection != NULL && !one->work.finished)
            netblt_abort(one->work.connection, BUSY, now);
}

static void validated(void *context, netblt_connection *connection)
{
    struct candidate *one = context;
    if (has_place(one))
        return;
    if (is_taken(one->place))
        netblt_abort(connection, BUSY, netblt_clock_now());
    else
        take_place(one);
}

/* ---- buffers ---------------------------------------------------------------------------------------------------- */

/* Each candidate reads a file by itself. */
static bool open_source(struct candidate *one)
{
    const only_place *place = one->place;
    source *copy;
    netblt_failure ignored;
    if (source_size(place->file->from) == 0 || strcmp(place->given->file, "-") == 0) {
        if (is_taken(place))
            return false;
        take_place(one);
        return true;
    }
    copy = source_copy(place->file->from, &ignored);
    if (copy == NULL || !source_cut(copy, source_size(place->file->from))) {
        source_close(copy);
        return false;
    }
    transfer_set_source(&one->work, copy);
    return true;
}

static enum netblt_send_buffer get_send_buffer(void *context, netblt_connection *connection, uint64_t index,
                                               uint32_t capacity, const uint8_t **data, uint32_t *length, bool *last)
{
    struct candidate *one = context;
    if (one->work.from == NULL && !open_source(one))
        return NETBLT_SEND_BUFFER_WAIT;
    return transfer_client.get_send_buffer(context, connection, index, capacity, data, length, last);
}

/* ---- candidates ------------------------------------------------------------------------------------------------- */

static void candidate_free(struct candidate *one)
{
    only_place *place = one->place;
    if (one->work.from != place->file->from)
        source_close(one->work.from);
    buffer_pool_clear(&one->work.early);
    LIST_REMOVE(one, entry);
    place->first_bytes -= one->first_bytes;
    free(one);
}

static bool is_alone(const struct candidate *one)
{
    return LIST_FIRST(&one->place->candidates) == one && LIST_NEXT(one, entry) == NULL;
}

/* Whether this end of a peer that is not validated is that of the command. A short transfer to a foreign peer is over
 * before anything could validate it. A failure counts if no other peer may be the right one: somebody who forges a peer
 * and its ABORT can end a command that waits for nobody in particular. */
static bool ends_command(const struct candidate *one, enum netblt_result result)
{
    if (is_taken(one->place))
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
    struct candidate *one = context;
    transfer_client.finished(context, connection, outcome);
    if (ends_command(one, outcome->result))
        take_place(one);
}

void only_place_settle(only_place *place)
{
    struct candidate *one = LIST_FIRST(&place->candidates);
    if (!is_taken(place) && one != NULL && is_alone(one) && !one->work.finished)
        take_place(one);
}

/* The one that has the place stays, because its result is still to be reported. */
static void closed(void *context, netblt_connection *connection)
{
    struct candidate *one = context;
    transfer_client.closed(context, connection);
    if (!has_place(one))
        candidate_free(one);
}

static struct candidate *add_candidate(only_place *place)
{
    struct candidate *one = calloc(1, sizeof *one);
    if (one == NULL)
        return NULL;
    one->place = place;
    one->work = *place->file;
    one->work.from = NULL;
    one->work.to = NULL;
    one->work.started_at = netblt_clock_now();
    LIST_INSERT_HEAD(&place->candidates, one, entry);
    return one;
}

static void limit_first_buffer(struct candidate *one, netblt_params *limits)
{
    only_place *place = one->place;
    parameters_limit_first_buffer(place->first_bytes, limits);
    one->first_bytes = limits->buffer_size;
    place->first_bytes += one->first_bytes;
}

/* ---- the reply to an OPEN --------------------------------------------------------------------------------------- */

static const char *find_objection(const only_place *place, const netblt_request *request)
{
    if (is_taken(place))
        return BUSY;
    if (request->role != place->file->role)
        return place->file->role == NETBLT_SENDER ? "this end sends, too" : "this end receives, too";
    return NULL;
}

void only_place_accept(void *context, const netblt_request *request, netblt_answer *answer)
{
    only_place *place = context;
    const transfer *file = place->file;
    const char *objection = find_objection(place, request);
    struct candidate *one = objection == NULL ? add_candidate(place) : NULL;
    if (one == NULL) {
        answer->accept = false;
        snprintf(answer->reason, sizeof answer->reason, "%s", objection == NULL ? "not enough memory" : objection);
        return;
    }
    parameters_limit(place->given, file->role, &request->path, file->from == NULL ? 0 : source_size(file->from),
                     &answer->limits);
    limit_first_buffer(one, &answer->limits);
    answer->accept = true;
    answer->client = &place->client;
    answer->context = &one->work;
    answer->options = transfer_options(file);
}

void only_place_init(only_place *place, const options *given, transfer *file)
{
    *place = (only_place){.given = given, .file = file, .current = file, .client = transfer_client};
    place->client.get_send_buffer = get_send_buffer;
    place->client.validated = validated;
    place->client.finished = finished;
    place->client.closed = closed;
}

void only_place_clear(only_place *place)
{
    struct candidate *next;
    for (struct candidate *one = LIST_FIRST(&place->candidates); one != NULL; one = next) {
        next = LIST_NEXT(one, entry);
        candidate_free(one);
    }
}
