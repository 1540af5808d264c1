/* SPDX-License-Identifier: BSD-2-Clause */
#include "open.h"

#include "close.h"
#include "endpoint_internal.h"
#include "params.h"

#include <string.h>

/* M says who sends: 1 = the active end (AMB-08). */
static bool mode_is_write(const netblt_connection *connection)
{
    return (connection->role == NETBLT_SENDER) == connection->active;
}

/* ---- active end ------------------------------------------------------------------------------------------------ */

void nb_open_start(netblt_connection *connection, netblt_time now)
{
    connection->state = NETBLT_STATE_OPENING;
    connection->open_wait_us = connection->endpoint->config.profile->open_retry_us;
    connection->open_retry_at = now + connection->open_wait_us;
    connection->open_attempts = 1;
    connection->owed |= NB_OWED_OPEN;
}

void nb_open_timeout(netblt_connection *connection, netblt_time now)
{
    if (connection->open_attempts >= connection->endpoint->config.profile->open_attempts) {
        nb_close_finish(connection, NETBLT_UNREACHABLE, "no answer to OPEN");
        nb_close_now(connection);
        return;
    }
    connection->open_attempts++;
    connection->open_wait_us *= 2;
    connection->open_retry_at = now + connection->open_wait_us;
    connection->owed |= NB_OWED_OPEN;
}

size_t nb_open_write(netblt_connection *connection, uint8_t *packet, netblt_time now)
{
    struct nb_emitter emitter = nb_connection_emitter(connection);
    struct nb_open_fields fields;
    nb_params_to_wire(&connection->own, &fields);
    fields.unique_id = connection->unique_id; /* the same in every copy (OPEN-04) */
    fields.write = mode_is_write(connection);
    connection->open_sent_at = now;
    return nb_write_open(packet, &emitter, NB_OPEN, &fields);
}

/* The data phase begins. */
static void become_open(netblt_connection *connection, netblt_time first_round_trip_us, netblt_time now)
{
    connection->state = NETBLT_STATE_OPEN;
    connection->open_retry_at = NETBLT_TIME_NEVER; /* OPEN-05 */
    connection->owed &= ~(unsigned)NB_OWED_OPEN;
    connection->received_at = now;
    connection->sent_at = now;
    connection->stats.opened_at = now;
    connection->started = true;
    if (connection->role == NETBLT_SENDER)
        nb_sender_start(connection);
    else
        nb_receiver_start(connection, first_round_trip_us);
    if (connection->client->opened != NULL)
        connection->client->opened(connection->context, connection);
}

/* NEG-06: what RESPONSE says governs, beside this end's own words. */
static void adopt_response(netblt_connection *connection, const struct nb_open_fields *response)
{
    netblt_params *agreed = &connection->agreed;
    agreed->buffer_size = response->buffer_size;
    agreed->packet_size = response->packet_size;
    agreed->burst_size = response->burst_size;
    agreed->burst_interval_ms = response->burst_interval_ms;
    agreed->max_buffers = response->max_buffers;
    agreed->data_checksum = response->data_checksum;
    if (connection->role == NETBLT_RECEIVER)
        agreed->transfer_size = response->transfer_size; /* the data sender knows it (AMB-15) */
    connection->peer_death_timer_s = response->death_timer_s;
    nb_text_copy(connection->peer_string, response->string);
    if (connection->own.data_checksum && !response->data_checksum)
        nb_log(connection->endpoint, "RESPONSE turned data checksums off (NEG-07); obeyed");
    if (response->write != mode_is_write(connection))
        nb_log(connection->endpoint, "RESPONSE changed the transfer mode (NEG-07); ignored");
}

/* OPEN-09: an attempt to open a second connection on the port pair of this one, which survives (AMB-18). */
static void answer_foreign_id(netblt_connection *connection, netblt_time now)
{
    struct nb_emitter emitter = nb_connection_emitter(connection);
    nb_farewell_answer(&connection->endpoint->farewells, &connection->path, &emitter, NB_ABORT,
                       "port pair is in use by another connection", now);
}

void nb_open_on_response(netblt_connection *connection, const struct nb_packet *packet, netblt_time now)
{
    const struct nb_open_fields *response = &packet->open;
    bool opening = connection->state == NETBLT_STATE_OPENING;
    if (response->unique_id != connection->unique_id) {
        if (!opening) /* while opening: the answer to an earlier attempt (OPEN-10, AMB-20) */
            answer_foreign_id(connection, now);
        return;
    }
    if (!opening) /* OPEN-08 */
        return;
    const char *unusable = nb_response_unusable(&connection->own, response);
    if (unusable != NULL) {
        nb_close_abort(connection, unusable);
        return;
    }
    adopt_response(connection, response);
    /* Karn: the answer to a repeated OPEN does not tell which copy it answers. */
    bool clear = connection->open_attempts == 1;
    become_open(connection, clear ? now - connection->open_sent_at : 0, now);
}

void nb_open_on_refused(netblt_connection *connection, const struct nb_packet *packet)
{
    char reason[NETBLT_STRING_MAX_BYTES + 1];
    nb_text_copy(reason, packet->reason);
    nb_close_finish(connection, NETBLT_REFUSED, reason);
    nb_close_now(connection);
}

/* ---- passive end ----------------------------------------------------------------------------------------------- */

void nb_open_on_open(netblt_connection *connection, const struct nb_packet *packet, netblt_time now)
{
    if (packet->open.unique_id != connection->unique_id) {
        answer_foreign_id(connection, now);
        return;
    }
    if (!connection->active) /* OPEN-07: RESPONSE was lost */
        connection->owed |= NB_OWED_RESPONSE;
}

size_t nb_open_write_response(const netblt_connection *connection, uint8_t *packet)
{
    struct nb_emitter emitter = nb_connection_emitter(connection);
    struct nb_open_fields fields;
    nb_params_to_wire(&connection->agreed, &fields);
    fields.unique_id = connection->unique_id; /* OPEN-02 */
    fields.write = mode_is_write(connection); /* NEG-07: echoed */
    return nb_write_open(packet, &emitter, NB_RESPONSE, &fields);
}

static void refuse(netblt_endpoint *endpoint, const netblt_path *path, const struct nb_packet *open, const char *reason,
                   netblt_time now)
{
    struct nb_emitter emitter = {endpoint->config.version, open->foreign_port, open->local_port};
    nb_farewell_answer(&endpoint->farewells, path, &emitter, NB_REFUSED, reason, now);
}

/* The proposal as it would be accepted whole, for the listener to tighten. */
static void prepare_limits(const netblt_params *proposed, netblt_params *limits)
{
    nb_params_restrict(proposed, proposed, limits);
    if (limits->death_timer_s == 0) { /* the peer may say "never" (AMB-50), this end has to die some time */
        netblt_params defaults;
        netblt_params_default(&defaults);
        limits->death_timer_s = defaults.death_timer_s;
    }
}

/* An accepted connection, or why it cannot be. */
static const char *accept_request(netblt_endpoint *endpoint, const netblt_request *request, const netblt_answer *answer,
                                  uint32_t unique_id, netblt_time now)
{
    netblt_params agreed;
    const char *what = NULL;
    nb_params_restrict(&request->proposed, &answer->limits, &agreed);
    if (request->role == NETBLT_RECEIVER)
        agreed.transfer_size = request->proposed.transfer_size; /* AMB-15: echoed */
    if (netblt_params_check(&agreed, &what) != 0)
        return what;
    if (!nb_client_fits(answer->client, request->role))
        return "the client cannot play this role";
    netblt_connection *connection =
        nb_connection_new(endpoint, &request->path, request->local_port, request->foreign_port);
    if (connection == NULL)
        return "out of memory";
    connection->role = request->role;
    connection->own = answer->limits;
    connection->agreed = agreed;
    connection->unique_id = unique_id;
    connection->peer_death_timer_s = request->proposed.death_timer_s;
    memcpy(connection->peer_string, request->proposed.client_string, sizeof connection->peer_string);
    connection->client = answer->client;
    connection->context = answer->context;
    connection->options = answer->options;
    connection->owed |= NB_OWED_RESPONSE;
    become_open(connection, 0, now);
    nb_touch(connection);
    return NULL;
}

void nb_open_on_request(netblt_endpoint *endpoint, const netblt_path *path, const struct nb_packet *packet,
                        netblt_time now)
{
    const struct nb_listener *listener = nb_demux_listener(&endpoint->demux, packet->foreign_port);
    if (listener == NULL) {
        refuse(endpoint, path, packet, "nobody listens on this port", now); /* AMB-26 */
        return;
    }
    const char *unusable = nb_proposal_unusable(&packet->open);
    if (unusable != NULL) {
        refuse(endpoint, path, packet, unusable, now);
        return;
    }
    netblt_request request = {
        .path = *path,
        .local_port = packet->foreign_port,
        .foreign_port = packet->local_port,
        .role = packet->open.write ? NETBLT_RECEIVER : NETBLT_SENDER,
    };
    nb_params_from_wire(&packet->open, &request.proposed);
    netblt_answer answer = {0};
    prepare_limits(&request.proposed, &answer.limits);
    listener->accept(listener->context, &request, &answer);
    const char *reason = answer.reason[0] != 0 ? answer.reason : "refused by the client";
    if (answer.accept)
        reason = accept_request(endpoint, &request, &answer, packet->open.unique_id, now);
    if (reason != NULL)
        refuse(endpoint, path, packet, reason, now);
}
