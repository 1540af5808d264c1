/* SPDX-License-Identifier: BSD-2-Clause */
/* Connection setup: OPEN, RESPONSE and REFUSED at both ends (RFC 998 5.1). */
#include "endpoint/open.h"

#include "base/allocator.h"
#include "base/bytes.h"
#include "base/versioned.h"
#include "connection/close.h"
#include "connection/endpoint_state.h"
#include "connection/observe.h"
#include "connection/pending_end.h"
#include "connection/validation.h"
#include "receiver/receiver.h"
#include "sender/sender.h"
#include "wire/params.h"

#include <stdio.h>
#include <string.h>

/* M states which end sends: 1 = the active end (AMB-08). */
static bool mode_is_write(const netblt_connection *connection)
{
    return (connection->role == NETBLT_SENDER) == connection->active;
}

netblt_connection *nb_connection_new(netblt_endpoint *endpoint, const netblt_path *path, uint16_t local_port,
                                     uint16_t foreign_port)
{
    netblt_connection *connection = nb_allocate_zeroed(&endpoint->allocator, sizeof *connection);
    if (connection == NULL)
        return NULL;
    connection->endpoint = endpoint;
    connection->allocator = &endpoint->allocator;
    connection->path = *path;
    connection->version = endpoint->config.version;
    connection->local_port = local_port;
    connection->foreign_port = foreign_port;
    connection->deadline = (struct nb_deadline){NETBLT_TIME_NEVER, NB_NOT_SCHEDULED};
    connection->open_retry_at = NETBLT_TIME_NEVER;
    connection->dally_until = NETBLT_TIME_NEVER;
    connection->quit_retry_at = NETBLT_TIME_NEVER;
    connection->quit_latest_at = NETBLT_TIME_NEVER;
    connection->pending_end.until = NETBLT_TIME_NEVER;
    if (!nb_deadlines_reserve(&endpoint->deadlines, endpoint->demux.connections + 1) ||
        !nb_demux_add(&endpoint->demux, connection)) {
        nb_release(&endpoint->allocator, connection);
        return NULL;
    }
    return connection;
}

/* The program has the callbacks up to `discard` at least. */
#define CLIENT_LEAST_BYTES (offsetof(netblt_client, discard) + sizeof(void (*)(void)))

bool nb_client_read(const netblt_client *program, enum netblt_role role, netblt_client *client)
{
    *client = (netblt_client){0};
    if (program == NULL || !nb_versioned_read(client, sizeof *client, program, CLIENT_LEAST_BYTES))
        return false;
    return role == NETBLT_SENDER ? client->get_send_buffer != NULL
                                 : role == NETBLT_RECEIVER && client->get_receive_buffer != NULL;
}

bool nb_too_long(uint64_t transfer_size, const netblt_options *options)
{
    return transfer_size > NETBLT_TRANSFER_MAX_BYTES && (options == NULL || !options->beyond_4g);
}

/* ---- active end ------------------------------------------------------------------------------------------------ */

/* OPEN-03: after as many attempts as the profile states, or when the time is up that the client has set. */
static bool give_up_opening(const netblt_connection *connection, netblt_time now)
{
    netblt_time patience = connection->options.open_timeout_us;
    if (patience != 0)
        return now - connection->open_first_at >= patience;
    return connection->open_attempts >= nb_profile_of(connection)->open_attempts;
}

/* Waits double; the last one ends when the client's patience does. */
static netblt_time next_open_retry(const netblt_connection *connection, netblt_time now)
{
    netblt_time at = now + connection->open_wait_us;
    netblt_time patience = connection->options.open_timeout_us;
    if (patience != 0 && at - connection->open_first_at > patience)
        at = connection->open_first_at + patience;
    return at;
}

void nb_open_start(netblt_connection *connection, netblt_time now)
{
    nb_set_state(connection, NETBLT_STATE_OPENING);
    connection->open_wait_us = nb_profile_of(connection)->open_retry_us;
    connection->open_attempts = 1;
    connection->open_first_at = now;
    nb_set_timer(connection, NETBLT_TIMER_OPEN, NB_NO_BUFFER, &connection->open_retry_at,
                 next_open_retry(connection, now));
    connection->owed |= NB_OWED_OPEN;
}

/* A guarded passive end under a flood of forged OPENs may have ended this connection for one of them before our next
 * packet arrived, and then nothing comes back. The same OPEN makes it again, with the same token. What follows the OPEN
 * at once shows that it was not forged, as far as a flood of mere OPENs goes. */
#define OPEN_AGAIN_ROUND_TRIPS 3

static void open_again(netblt_connection *connection, netblt_time now)
{
    if (connection->transfers || connection->state != NETBLT_STATE_OPEN)
        return;
    connection->open_wait_us *= 2;
    nb_set_timer(connection, NETBLT_TIMER_OPEN, NB_NO_BUFFER, &connection->open_retry_at,
                 now + connection->open_wait_us);
    connection->owed |= NB_OWED_OPEN | (connection->role == NETBLT_RECEIVER ? NB_OWED_CONTROL : NB_OWED_KEEPALIVE);
}

void nb_open_timeout(netblt_connection *connection, netblt_time now)
{
    if (connection->state != NETBLT_STATE_OPENING) {
        nb_timer_expired(connection, NETBLT_TIMER_OPEN, NB_NO_BUFFER, &connection->open_retry_at);
        open_again(connection, now);
        return;
    }
    nb_timer_expired(connection, NETBLT_TIMER_OPEN, NB_NO_BUFFER, &connection->open_retry_at);
    if (give_up_opening(connection, now)) {
        nb_close_finish(connection, NETBLT_UNREACHABLE, "no answer to OPEN");
        nb_close_now(connection);
        return;
    }
    connection->open_attempts++;
    connection->open_wait_us *= 2;
    nb_set_timer(connection, NETBLT_TIMER_OPEN, NB_NO_BUFFER, &connection->open_retry_at,
                 next_open_retry(connection, now));
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
    nb_set_state(connection, NETBLT_STATE_OPEN);
    /* OPEN-05; open_again() */
    connection->open_wait_us = nb_profile_of(connection)->open_retry_us;
    if (connection->open_wait_us < OPEN_AGAIN_ROUND_TRIPS * first_round_trip_us)
        connection->open_wait_us = OPEN_AGAIN_ROUND_TRIPS * first_round_trip_us;
    nb_set_timer(connection, NETBLT_TIMER_OPEN, NB_NO_BUFFER, &connection->open_retry_at,
                 connection->active && connection->guarded ? now + connection->open_wait_us : NETBLT_TIME_NEVER);
    connection->owed &= ~(unsigned)NB_OWED_OPEN;
    connection->received_at = now;
    connection->sent_at = now;
    connection->stats.opened_at = now;
    connection->started = true;
    if (connection->role == NETBLT_SENDER)
        nb_sender_start(connection);
    else
        nb_receiver_start(connection, first_round_trip_us);
    nb_observe_timer(connection, NETBLT_EVENT_TIMER_SET, NETBLT_TIMER_DEATH, NB_NO_BUFFER,
                     nb_close_death_at(connection));
    nb_observe_rate(connection, (struct nb_burst){connection->agreed.burst_size, connection->agreed.burst_interval_ms},
                    first_round_trip_us, 0, "as negotiated");
    if (connection->client->opened != NULL)
        connection->client->opened(connection->context, connection);
}

/* NEG-06: the values of RESPONSE govern, beside this end's own values. */
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
    if (connection->endpoint->secret.known)
        connection->guarded = nb_guard_take_token(connection->peer_string, &connection->token, &connection->features);
    connection->features &= nb_guard_features(&connection->options);
    if (connection->own.data_checksum && !response->data_checksum)
        nb_log(connection->endpoint, "RESPONSE turned data checksums off (NEG-07); obeyed");
    if (response->write != mode_is_write(connection))
        nb_log(connection->endpoint, "RESPONSE changed the transfer mode (NEG-07); ignored");
}

/* OPEN-09: an attempt to open a second connection on the port pair of this one, which survives (AMB-18). */
static void reply_to_foreign_id(netblt_connection *connection, netblt_time now)
{
    struct nb_emitter emitter = nb_connection_emitter(connection);
    netblt_endpoint *endpoint = connection->endpoint;
    size_t bytes = nb_reply_queue_limited(&endpoint->replies, &connection->path, &emitter, NB_ABORT,
                                          "port pair is in use by another connection", now);
    if (bytes == 0)
        return;
    nb_validation_sent(connection, bytes, now);
    nb_observe_reply(endpoint, NULL);
}

void nb_open_on_response(netblt_connection *connection, const struct nb_packet *packet, netblt_time now)
{
    const struct nb_open_fields *response = &packet->open;
    bool opening = connection->state == NETBLT_STATE_OPENING;
    if (response->unique_id != connection->unique_id) {
        if (!opening) /* while opening: the answer to an earlier attempt (OPEN-10, AMB-20) */
            reply_to_foreign_id(connection, now);
        return;
    }
    if (!opening) /* OPEN-08 */
        return;
    const char *unusable = nb_response_unusable(&connection->own, response);
    if (unusable != NULL) {
        nb_close_abort(connection, unusable);
        return;
    }
    nb_pending_end_settle(connection);
    adopt_response(connection, response);
    /* Karn: the answer to a repeated OPEN does not show which copy it answers; the first is the likeliest. */
    netblt_time sent_at = connection->open_attempts == 1 ? connection->open_sent_at : connection->open_first_at;
    become_open(connection, now - sent_at, now);
}

static void end_by_refusal(netblt_connection *connection, const char *reason)
{
    nb_close_finish(connection, NETBLT_REFUSED, reason);
    nb_close_now(connection);
}

void nb_open_believe_refusal(netblt_connection *connection)
{
    nb_pending_end_settle(connection);
    end_by_refusal(connection, connection->pending_end.reason);
}

void nb_open_on_refused(netblt_connection *connection, const struct nb_packet *packet, netblt_time now)
{
    char reason[NETBLT_STRING_MAX_BYTES + 1];
    nb_text_copy(reason, packet->reason);
    enum nb_end_belief belief = nb_pending_end_decide(connection, (enum nb_type)packet->type, reason, now);
    if (belief == NB_END_BELIEVED)
        end_by_refusal(connection, reason);
    else if (belief == NB_END_WAITS) /* no OPEN after a refusal; a RESPONSE shows that it was forged */
        nb_set_timer(connection, NETBLT_TIMER_OPEN, NB_NO_BUFFER, &connection->open_retry_at, NETBLT_TIME_NEVER);
}

/* ---- passive end ----------------------------------------------------------------------------------------------- */

void nb_open_on_open(netblt_connection *connection, const struct nb_packet *packet, netblt_time now)
{
    if (packet->open.unique_id != connection->unique_id) {
        reply_to_foreign_id(connection, now);
        return;
    }
    connection->response_room = packet->length;
    if (!connection->active) /* OPEN-07: RESPONSE was lost */
        connection->owed |= NB_OWED_RESPONSE;
}

/* RFC 998 does not bound the client string, netblt_params does: cut, it would be the name of something else. */
static bool is_string_too_long(const struct nb_open_fields *fields)
{
    return fields->string.length > NETBLT_STRING_MAX_BYTES;
}

bool nb_open_replaces(const netblt_connection *connection, const struct nb_packet *packet, netblt_time now)
{
    const netblt_endpoint *endpoint = connection->endpoint;
    return packet->type == NB_OPEN && connection->state == NETBLT_STATE_DALLYING && !connection->guarded &&
           packet->open.unique_id != connection->unique_id &&
           nb_demux_listener(&endpoint->demux, connection->local_port) != NULL &&
           !nb_time_wait_has(&endpoint->time_wait, &connection->path, connection->local_port, connection->foreign_port,
                             packet->open.unique_id, now) &&
           nb_proposal_unusable(&packet->open) == NULL && !is_string_too_long(&packet->open);
}

/* A string that the budget does not allow is left out: half a name is the name of something else. The header alone is
 * within three times any OPEN. */
static void fit_string(netblt_connection *connection, struct nb_text *string, netblt_time now)
{
    size_t bytes = NB_OPEN_BYTES + nb_align4(string->length + 1);
    if (string->length > 0 && nb_validation_send_at(connection, bytes, now) > now)
        string->length = 0;
    if (string->length == 0 && connection->response_room < NB_OPEN_BYTES + 4)
        string->bytes = NULL; /* there was no string field in OPEN: none in RESPONSE (AMB-03) */
}

size_t nb_open_write_response(netblt_connection *connection, uint8_t *packet, netblt_time now)
{
    struct nb_emitter emitter = nb_connection_emitter(connection);
    struct nb_open_fields fields;
    netblt_params answer = connection->agreed;
    if (connection->guarded)
        nb_guard_append_token(answer.client_string, connection->token, connection->features);
    nb_params_to_wire(&answer, &fields);
    fields.unique_id = connection->unique_id; /* OPEN-02 */
    fields.write = mode_is_write(connection); /* NEG-07: echoed */
    fit_string(connection, &fields.string, now);
    return nb_write_open(packet, &emitter, NB_RESPONSE, &fields);
}

/* The longest reason of a REFUSED for which its OPEN pays (budget.h). */
static size_t refusal_chars_max(size_t open_bytes)
{
    size_t bytes = (NB_BUDGET_FACTOR * open_bytes - NB_BUDGET_HEADER_BYTES - NETBLT_HEADER_BYTES) / 4 * 4 - 1;
    return bytes < NETBLT_STRING_MAX_BYTES ? bytes : NETBLT_STRING_MAX_BYTES;
}

static void refuse(netblt_endpoint *endpoint, const netblt_path *path, const struct nb_packet *open, const char *reason,
                   netblt_time now)
{
    char text[NETBLT_STRING_MAX_BYTES + 1];
    size_t chars = refusal_chars_max(open->length);
    bool marked =
        endpoint->secret.known && nb_guard_is_marked(open->open.unique_id, open->local_port, open->foreign_port, NULL);
    snprintf(text, sizeof text, "%s", reason);
    nb_guard_cut(text, marked ? chars - NB_GUARD_PROOF_CHARS : chars);
    if (marked)
        nb_guard_append_proof(text, open->open.unique_id, NB_REFUSED);
    struct nb_emitter emitter = {open->version, open->foreign_port, open->local_port};
    nb_observe_dropped(endpoint, NULL, "refused");
    if (nb_reply_queue_limited(&endpoint->replies, path, &emitter, NB_REFUSED, text, now) > 0)
        nb_observe_reply(endpoint, NULL);
}

/* The proposal as it would be accepted whole, for the listener to tighten. */
static void prepare_limits(const netblt_params *proposed, netblt_params *limits)
{
    nb_params_restrict(proposed, proposed, limits);
    if (limits->death_timer_s == 0) { /* the peer may choose "never" (AMB-50), this end has to die some time */
        netblt_params defaults;
        netblt_params_default(&defaults);
        limits->death_timer_s = defaults.death_timer_s;
    }
}

/* guard.h: a marked OPEN shows that its sender knows what a token is. Every RESPONSE must be able to carry it. */
static void offer_guard(netblt_connection *connection, const struct nb_packet *open)
{
    const struct nb_secret *secret = &connection->endpoint->secret;
    size_t chars = strlen(connection->agreed.client_string) + NB_GUARD_TOKEN_CHARS;
    bool fits = chars <= NETBLT_STRING_MAX_BYTES && NB_OPEN_BYTES + nb_align4(chars + 1) + NB_BUDGET_HEADER_BYTES <=
                                                        NB_BUDGET_FACTOR * (size_t)open->length;
    unsigned features = 0;
    if (!secret->known || !fits ||
        !nb_guard_is_marked(open->open.unique_id, open->local_port, open->foreign_port, &features))
        return;
    connection->guarded = true;
    connection->features = features & nb_guard_features(&connection->options);
    connection->token = nb_guard_token(secret, &connection->path, connection->local_port, connection->foreign_port,
                                       connection->unique_id);
}

/* Makes the connection. NULL, or why it cannot be. */
static const char *accept_request(netblt_endpoint *endpoint, const netblt_request *request, const netblt_answer *answer,
                                  const struct nb_packet *open, netblt_time now)
{
    netblt_params agreed;
    netblt_params limits = answer->limits;
    const char *what = NULL;
    limits.death_timer_s = nb_validation_death_timer(endpoint, limits.death_timer_s, request->proposed.death_timer_s);
    nb_params_restrict(&request->proposed, &limits, &agreed);
    if (request->role == NETBLT_RECEIVER)
        agreed.transfer_size = request->proposed.transfer_size; /* AMB-15: echoed */
    if (netblt_params_check(&agreed, &what) != 0)
        return what;
    netblt_client client;
    if (!nb_client_read(answer->client, request->role, &client))
        return "the client cannot play this role";
    if (nb_too_long(agreed.transfer_size, &answer->options))
        return NB_BEYOND_4G_REASON;
    nb_close_make_room(endpoint);
    netblt_connection *connection =
        nb_connection_new(endpoint, &request->path, request->local_port, request->foreign_port);
    if (connection == NULL)
        return "out of memory";
    nb_validation_begin(connection, open->length);
    connection->version = open->version;
    connection->response_room = open->length;
    connection->role = request->role;
    connection->own = limits;
    connection->agreed = agreed;
    connection->unique_id = open->open.unique_id;
    connection->peer_death_timer_s = request->proposed.death_timer_s;
    memcpy(connection->peer_string, request->proposed.client_string, sizeof connection->peer_string);
    connection->own_client = client;
    connection->client = &connection->own_client;
    connection->context = answer->context;
    connection->options = answer->options;
    offer_guard(connection, open);
    connection->owed |= NB_OWED_RESPONSE;
    connection->stats.packets_received = 1; /* the OPEN itself */
    connection->stats.bytes_received = open->length;
    nb_observe_received(connection);
    become_open(connection, 0, now);
    nb_mark(connection);
    return NULL;
}

static uint8_t requested_features(const netblt_endpoint *endpoint, const struct nb_packet *packet)
{
    unsigned features = 0;
    if (endpoint->secret.known)
        (void)nb_guard_is_marked(packet->open.unique_id, packet->local_port, packet->foreign_port, &features);
    return (uint8_t)features;
}

void nb_open_on_request(netblt_endpoint *endpoint, const netblt_path *path, const struct nb_packet *packet,
                        netblt_time now)
{
    const struct nb_listener *listener = nb_demux_listener(&endpoint->demux, packet->foreign_port);
    if (listener == NULL) {
        refuse(endpoint, path, packet, "nobody listens here", now); /* AMB-26 */
        return;
    }
    if (nb_time_wait_has(&endpoint->time_wait, path, packet->foreign_port, packet->local_port, packet->open.unique_id,
                         now)) {
        nb_observe_dropped(endpoint, NULL, "its connection is over");
        return;
    }
    const char *unusable = nb_proposal_unusable(&packet->open);
    if (unusable != NULL) {
        refuse(endpoint, path, packet, unusable, now);
        return;
    }
    if (is_string_too_long(&packet->open)) {
        refuse(endpoint, path, packet, "client string too long", now);
        return;
    }
    netblt_request request = {
        .path = *path,
        .local_port = packet->foreign_port,
        .foreign_port = packet->local_port,
        .role = packet->open.write ? NETBLT_RECEIVER : NETBLT_SENDER,
    };
    nb_params_from_wire(&packet->open, &request.proposed);
    request.client_features = requested_features(endpoint, packet);
    netblt_answer answer = {0};
    prepare_limits(&request.proposed, &answer.limits);
    listener->accept(listener->context, &request, &answer);
    if (!answer.accept && answer.silent) {
        nb_observe_dropped(endpoint, NULL, "the client lets it wait");
        return;
    }
    const char *reason = answer.reason[0] != 0 ? answer.reason : "refused by the client";
    if (answer.accept)
        reason = accept_request(endpoint, &request, &answer, packet, now);
    if (reason != NULL)
        refuse(endpoint, path, packet, reason, now);
}
