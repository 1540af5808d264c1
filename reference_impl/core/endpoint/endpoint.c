/* SPDX-License-Identifier: BSD-2-Clause */
/* The public calls of an endpoint: input, output, timers and the client's requests. */
#include "base/allocator.h"
#include "base/versioned.h"
#include "connection/close.h"
#include "connection/endpoint_state.h"
#include "connection/observe.h"
#include "connection/receive_buffers.h"
#include "connection/send_buffers.h"
#include "connection/validation.h"
#include "endpoint/open.h"
#include "endpoint/stages.h"
#include "receiver/receiver.h"
#include "wire/params.h"

#include <assert.h>
#include <string.h>

/* The first members, which a program cannot do without. */
#define CONFIG_LEAST_BYTES offsetof(netblt_config, log)
#define OPEN_ARGS_LEAST_BYTES offsetof(netblt_open_args, options)

static netblt_config default_config(void)
{
    return (netblt_config){
        .version = 2,
        .refused_versions = UINT64_C(1) << 4 | UINT64_C(1) << 5, /* other type codes: AMB-01 */
        .profile = &netblt_profile_default,
        .unvalidated_bytes_per_s = 64 * 1024,
        .unvalidated_connections = 4096,
    };
}

void netblt_config_default_sized(netblt_config *config, size_t size)
{
    netblt_config known = default_config();
    known.size = size;
    nb_versioned_write(config, size, &known, sizeof known);
}

static bool is_complete(const netblt_allocator *allocator)
{
    return allocator->allocate != NULL && allocator->reallocate != NULL && allocator->release != NULL;
}

netblt_endpoint *netblt_endpoint_new(const netblt_config *config)
{
    netblt_config known = default_config();
    if (!nb_versioned_read(&known, sizeof known, config, CONFIG_LEAST_BYTES))
        return NULL;
    netblt_allocator allocator = known.allocator == NULL ? nb_allocator_default : *known.allocator;
    netblt_endpoint *endpoint = is_complete(&allocator) ? nb_allocate_zeroed(&allocator, sizeof *endpoint) : NULL;
    if (endpoint == NULL)
        return NULL;
    endpoint->allocator = allocator;
    endpoint->deadlines.allocator = &endpoint->allocator;
    endpoint->demux.allocator = &endpoint->allocator;
    endpoint->config = known;
    if (endpoint->config.profile == NULL)
        endpoint->config.profile = &netblt_profile_default;
    nb_replies_init(&endpoint->replies, &endpoint->allocator);
    endpoint->secret = nb_secret_read(known.secret);
    endpoint->demux.key = endpoint->secret.key;
    nb_budget_init(&endpoint->budget, known.unvalidated_bytes_per_s);
    return endpoint;
}

static void connection_free(netblt_connection *connection)
{
    if (connection->started && connection->role == NETBLT_SENDER)
        nb_sender_free(connection);
    else if (connection->started)
        nb_receiver_free(connection);
    nb_release(connection->allocator, connection);
}

void netblt_endpoint_free(netblt_endpoint *endpoint)
{
    if (endpoint == NULL)
        return;
    for (;;) {
        netblt_connection *connection = nb_demux_any(&endpoint->demux);
        if (connection == NULL)
            break;
        nb_demux_remove(&endpoint->demux, connection);
        connection_free(connection);
    }
    nb_demux_free(&endpoint->demux);
    nb_deadlines_free(&endpoint->deadlines);
    nb_replies_free(&endpoint->replies);
    netblt_allocator allocator = endpoint->allocator;
    nb_release(&allocator, endpoint);
}

/* ---- enter, leave ----------------------------------------------------------------------------------- */

/* Returns the time to go on with: never earlier than any that was named before. */
static netblt_time enter(netblt_endpoint *endpoint, netblt_time now)
{
    if (now > endpoint->now)
        endpoint->now = now;
    endpoint->depth++;
    return endpoint->now;
}

static void schedule(netblt_connection *connection)
{
    netblt_endpoint *endpoint = connection->endpoint;
    if (nb_connection_has_output(connection, endpoint->now) && !nb_link_is_listed(&connection->ready))
        nb_ready_append(&endpoint->ready, connection);
    nb_deadlines_set(&endpoint->deadlines, &connection->deadline, nb_connection_deadline(connection, endpoint->now));
}

static void unlink_closed(netblt_endpoint *endpoint, netblt_connection *connection)
{
    if (!connection->active && nb_validation_response_was_seen(connection))
        nb_time_wait_add(&endpoint->time_wait, connection, endpoint->now);
    nb_ready_remove(connection);
    nb_deadlines_set(&endpoint->deadlines, &connection->deadline, NETBLT_TIME_NEVER);
    nb_demux_remove(&endpoint->demux, connection);
    nb_marked_append(&endpoint->closed, connection); /* and so never marked again */
}

static void free_closed(netblt_endpoint *endpoint)
{
    netblt_connection *connection;
    while ((connection = nb_marked_take(&endpoint->closed)) != NULL) {
        if (connection->client->closed != NULL)
            connection->client->closed(connection->context, connection);
        connection_free(connection);
    }
}

/* Lets each marked connection follow up on what happened, and removes those that are closed. */
static void settle(netblt_endpoint *endpoint)
{
    while (!nb_list_is_empty(&endpoint->marked) || !nb_list_is_empty(&endpoint->closed)) {
        netblt_connection *connection = nb_marked_take(&endpoint->marked);
        if (connection == NULL) {
            free_closed(endpoint);
            continue;
        }
        nb_connection_step(connection, endpoint->now);
        if (connection->state == NETBLT_STATE_CLOSED) {
            if (nb_link_is_listed(&connection->marked)) /* again, by a callback of its own last step */
                continue;
            unlink_closed(endpoint, connection);
        } else {
            schedule(connection);
        }
    }
}

static void leave(netblt_endpoint *endpoint)
{
    assert(endpoint->depth > 0);
    if (endpoint->depth == 1)
        settle(endpoint);
    endpoint->depth--;
}

/* ---- the public calls -------------------------------------------------------------------------------------- */

/* The connection with what the program has passed; NULL if memory is short. */
static netblt_connection *make_active(netblt_endpoint *endpoint, const netblt_open_args *args,
                                      const netblt_client *client)
{
    netblt_connection *opened = nb_connection_new(endpoint, args->path, args->local_port, args->foreign_port);
    if (opened == NULL)
        return NULL;
    opened->active = true;
    opened->role = args->role;
    opened->own = *args->params;
    opened->agreed = *args->params;
    opened->own_client = *client;
    opened->client = &opened->own_client;
    opened->context = args->context;
    opened->options = args->options;
    uint32_t unique_id = args->unique_id;
    opened->unique_id = endpoint->secret.known ? nb_guard_mark(unique_id, args->local_port, args->foreign_port,
                                                               nb_guard_features(&opened->options))
                                               : unique_id;
    return opened;
}

int netblt_open(netblt_endpoint *endpoint, const netblt_open_args *program, netblt_time now,
                netblt_connection **connection)
{
    netblt_open_args args = {.size = 0};
    netblt_client client;
    const char *what = NULL;
    if (!nb_versioned_read(&args, sizeof args, program, OPEN_ARGS_LEAST_BYTES))
        return NETBLT_ERR_INVALID_ARGUMENT;
    if (netblt_params_check(args.params, &what) != 0) {
        nb_log(endpoint, "open: %s", what);
        return NETBLT_ERR_INVALID_ARGUMENT;
    }
    if (!nb_client_read(args.client, args.role, &client) || nb_too_long(args.params->transfer_size, &args.options))
        return NETBLT_ERR_INVALID_ARGUMENT;
    if (nb_demux_find(&endpoint->demux, args.path, args.local_port, args.foreign_port) != NULL)
        return NETBLT_ERR_PORT_IN_USE;
    now = enter(endpoint, now);
    netblt_connection *opened = make_active(endpoint, &args, &client);
    if (opened != NULL) {
        nb_open_start(opened, now);
        nb_mark(opened);
        *connection = opened;
    }
    leave(endpoint);
    return opened == NULL ? NETBLT_ERR_NO_MEMORY : 0;
}

int netblt_listen(netblt_endpoint *endpoint, uint16_t port, netblt_accept_fn *accept, void *context)
{
    return nb_demux_listen(&endpoint->demux, port, accept, context);
}

void netblt_unlisten(netblt_endpoint *endpoint, uint16_t port)
{
    nb_demux_unlisten(&endpoint->demux, port);
}

static const char *sentence_of(enum nb_fault fault)
{
    switch (fault) {
    case NB_FAULT_SHORT:
        return "it is shorter than a header";
    case NB_FAULT_LENGTH:
        return "its Length does not fit";
    case NB_FAULT_TYPE:
        return "its type is unknown";
    default:
        return "its checksum is wrong";
    }
}

static void count_fault(netblt_connection *connection, enum nb_fault fault)
{
    if (connection == NULL)
        return;
    if (fault == NB_FAULT_CHECKSUM)
        connection->stats.checksum_errors++;
    else
        connection->stats.malformed++;
}

/* Whose the packet is. The packets of a run nearly always belong to one connection: `last` is that of the packet
 * before, which enter() keeps alive. */
static netblt_connection *find_connection(const netblt_endpoint *endpoint, const netblt_path *path,
                                          const struct nb_packet *packet, netblt_connection **last)
{
    /* The packet's foreign port is ours (AMB-13, WIRE-13). */
    if (*last == NULL || (*last)->local_port != packet->foreign_port || (*last)->foreign_port != packet->local_port)
        *last = nb_demux_find(&endpoint->demux, path, packet->foreign_port, packet->local_port);
    return *last;
}

static int input_one(netblt_endpoint *endpoint, const netblt_path *path, const uint8_t *bytes, size_t size,
                     netblt_connection **last, netblt_time now)
{
    struct nb_packet packet;
    enum nb_fault fault = nb_decode(bytes, size, &packet);
    endpoint->arrived = bytes;
    endpoint->arrived_bytes = size;
    if (fault == NB_FAULT_SHORT) {
        nb_observe_dropped(endpoint, NULL, sentence_of(fault));
        return NETBLT_ERR_MALFORMED;
    }
    netblt_connection *connection = find_connection(endpoint, path, &packet, last);
    if (fault != NB_FAULT_NONE) {
        count_fault(connection, fault);
        nb_observe_dropped(endpoint, connection, sentence_of(fault));
        return fault == NB_FAULT_CHECKSUM ? NETBLT_ERR_CHECKSUM : NETBLT_ERR_MALFORMED;
    }
    if (packet.version < 64 && (endpoint->config.refused_versions >> packet.version & 1) != 0) {
        nb_log(endpoint, "dropped a packet of version %u, which has other packet types", packet.version);
        nb_observe_dropped(endpoint, connection, "its version has other packet types");
        return NETBLT_ERR_MALFORMED;
    }
    if (connection != NULL && nb_open_replaces(connection, &packet, now)) {
        nb_close_now(connection);
        settle(endpoint); /* frees it, and with it the port pair */
        *last = connection = NULL;
    }
    if (connection != NULL) {
        connection->stats.packets_received++;
        connection->stats.bytes_received += packet.length;
        nb_observe_received(connection);
        nb_connection_input(connection, &packet, now);
        nb_mark(connection);
    } else if (packet.type == NB_OPEN) {
        nb_open_on_request(endpoint, path, &packet, now);
    } else { /* for no connection: silence (DEMUX-03, AMB-55) */
        nb_observe_dropped(endpoint, NULL, "it belongs to no connection");
    }
    return 0;
}

int netblt_input(netblt_endpoint *endpoint, const netblt_path *path, const uint8_t *packets, size_t length,
                 size_t segment_bytes, netblt_time now)
{
    if (length == 0 || segment_bytes == 0)
        return NETBLT_ERR_MALFORMED;
    int result = 0;
    netblt_connection *last = NULL;
    now = enter(endpoint, now);
    for (size_t offset = 0; offset < length; offset += segment_bytes) {
        size_t size = length - offset < segment_bytes ? length - offset : segment_bytes;
        int error = input_one(endpoint, path, packets + offset, size, &last, now);
        if (error != 0)
            result = error;
    }
    leave(endpoint);
    return result;
}

static void run_timers(netblt_endpoint *endpoint, netblt_time now)
{
    for (;;) {
        struct nb_deadline *due = nb_deadlines_first(&endpoint->deadlines);
        if (due == NULL || due->at > now)
            return;
        netblt_connection *connection =
            (netblt_connection *)(void *)((char *)due - offsetof(netblt_connection, deadline));
        nb_deadlines_set(&endpoint->deadlines, due, NETBLT_TIME_NEVER);
        nb_connection_timeout(connection, now);
        nb_mark(connection);
    }
}

void netblt_timeout(netblt_endpoint *endpoint, netblt_time now)
{
    now = enter(endpoint, now);
    run_timers(endpoint, now);
    leave(endpoint);
}

/* Nothing was written: was there something that did not fit? */
static void note_needed(netblt_output *output, size_t needed)
{
    *output = (netblt_output){.needed = needed};
    if (needed != 0)
        output->error = NETBLT_ERR_NO_SPACE;
}

static size_t output_of_connections(netblt_endpoint *endpoint, uint8_t *packets, size_t capacity, netblt_output *output,
                                    netblt_time now)
{
    /* Each ready connection once: one whose packet does not fit must not keep the others waiting. */
    const netblt_connection *stop = nb_ready_last(&endpoint->ready);
    size_t needed = output->needed; /* by a reply */
    for (;;) {
        netblt_connection *connection = nb_ready_take(&endpoint->ready);
        size_t bytes = 0;
        if (connection != NULL) {
            bytes = nb_connection_output(connection, packets, capacity, output, now);
            nb_mark(connection); /* scheduled again, after all others that are ready */
            if (bytes == 0 && output->needed != 0 && (needed == 0 || output->needed < needed))
                needed = output->needed;
        }
        if (bytes > 0)
            return bytes;
        if (connection == NULL || connection == stop) {
            note_needed(output, needed);
            return 0;
        }
    }
}

size_t netblt_output_burst(netblt_endpoint *endpoint, uint8_t *packets, size_t capacity, netblt_output *output,
                           netblt_time now)
{
    netblt_timeout(endpoint, now);
    now = enter(endpoint, now);
    size_t bytes = nb_reply_write(&endpoint->replies, packets, capacity, output);
    if (bytes == 0)
        bytes = output_of_connections(endpoint, packets, capacity, output, now);
    leave(endpoint);
    return bytes;
}

netblt_time netblt_deadline(const netblt_endpoint *endpoint)
{
    if (!nb_list_is_empty(&endpoint->replies.queue) || !nb_list_is_empty(&endpoint->ready))
        return endpoint->now;
    const struct nb_deadline *first = nb_deadlines_first(&endpoint->deadlines);
    return first == NULL ? NETBLT_TIME_NEVER : first->at;
}

void netblt_unreachable(netblt_endpoint *endpoint, const netblt_address *foreign, uint16_t local_port, netblt_time now)
{
    enter(endpoint, now);
    nb_close_unreachable(endpoint, foreign, local_port);
    leave(endpoint);
}

void netblt_resume(netblt_connection *connection, netblt_time now)
{
    netblt_endpoint *endpoint = connection->endpoint;
    enter(endpoint, now);
    if (connection->started && connection->role == NETBLT_SENDER)
        connection->sender.client_waits = false;
    else if (connection->started)
        connection->receiver.client_waits = false;
    nb_mark(connection);
    leave(endpoint);
}

static bool still_open(const netblt_connection *connection)
{
    return !connection->finished &&
           (connection->state == NETBLT_STATE_OPENING || connection->state == NETBLT_STATE_OPEN);
}

int netblt_quit(netblt_connection *connection, const char *reason, netblt_time now)
{
    if (strlen(reason) > NETBLT_STRING_MAX_BYTES)
        return NETBLT_ERR_TOO_LONG;
    if (!still_open(connection) || connection->quit_wanted)
        return NETBLT_ERR_WRONG_STATE;
    netblt_endpoint *endpoint = connection->endpoint; /* outlives the connection */
    now = enter(endpoint, now);
    nb_close_want_quit(connection, reason, now);
    nb_mark(connection);
    leave(endpoint);
    return 0;
}

int netblt_confirm(netblt_connection *connection, netblt_time now)
{
    if (!connection->started || connection->role != NETBLT_RECEIVER || !nb_connection_transfers(connection) ||
        connection->quit_wanted || !connection->receiver.awaits_confirmation)
        return NETBLT_ERR_WRONG_STATE;
    netblt_endpoint *endpoint = connection->endpoint; /* outlives the connection */
    enter(endpoint, now);
    nb_receiver_confirm(connection);
    nb_mark(connection);
    leave(endpoint);
    return 0;
}

int netblt_abort(netblt_connection *connection, const char *reason, netblt_time now)
{
    if (strlen(reason) > NETBLT_STRING_MAX_BYTES)
        return NETBLT_ERR_TOO_LONG;
    if (connection->state == NETBLT_STATE_CLOSED || connection->finished)
        return NETBLT_ERR_WRONG_STATE;
    netblt_endpoint *endpoint = connection->endpoint; /* outlives the connection */
    enter(endpoint, now);
    nb_close_abort(connection, reason);
    nb_mark(connection);
    leave(endpoint);
    return 0;
}

static struct nb_burst burst_now(const netblt_connection *connection)
{
    if (!connection->started)
        return (struct nb_burst){connection->agreed.burst_size, connection->agreed.burst_interval_ms};
    return connection->role == NETBLT_SENDER ? connection->sender.pacing.settled
                                             : nb_rate_control_in_force(&connection->receiver.rate);
}

void netblt_get_info_sized(const netblt_connection *connection, netblt_info *program, size_t size)
{
    struct nb_burst burst = burst_now(connection);
    netblt_info known = {
        .size = size,
        .state = connection->state,
        .role = connection->role,
        .active = connection->active,
        .unvalidated = nb_validation_is_missing(connection),
        .guarded = connection->guarded,
        .client_features = (uint8_t)connection->features,
        .path = connection->path,
        .local_port = connection->local_port,
        .foreign_port = connection->foreign_port,
        .unique_id = connection->unique_id,
        .negotiated = connection->agreed,
        .burst_size = burst.size,
        .burst_interval_ms = burst.interval_ms,
        .peer_death_timer_s = connection->peer_death_timer_s,
        .stats = connection->stats,
    };
    memcpy(known.peer_string, connection->peer_string, sizeof known.peer_string);
    if (connection->started && connection->role == NETBLT_RECEIVER) {
        known.stats.round_trip_us = connection->receiver.control_timer.smoothed_us;
        known.stats.control_timer_us = connection->receiver.control_timer.value_us;
    }
    nb_versioned_write(program, size, &known, sizeof known);
}
