/* SPDX-License-Identifier: BSD-2-Clause */
/* Address validation of the peer of a passive end: see validation.h. */
#include "connection/validation.h"

#include "base/bytes.h"
#include "connection/endpoint_state.h"
#include "connection/send_buffers.h"
#include "wire/params.h"

/* An unvalidated peer gets KEEPALIVEs until our own death timer ends the connection (TIMER-11), four in the time of its
 * own: so many times its own is the death timer that we declare to it. A peer that our packets do not reach is dead
 * long before. */
#define DEATH_TIMER_FACTOR_MAX 30
/* Buffers up to so many bytes, in packets, are sent whole: the budget allows a small transfer, which is over before a
 * RESEND could come. */
#define WHOLE_BYTES_MAX (32 * 1024)
/* An attacker who cannot see our packets must guess at least 16 bits. */
#define CHANCE_MAX (1.0 / 65536)

bool nb_validation_is_missing(const netblt_connection *connection)
{
    return nb_link_is_listed(&connection->unvalidated.listed);
}

bool nb_validation_response_was_seen(const netblt_connection *connection)
{
    bool believes_all = connection->endpoint->config.unvalidated_bytes_per_s == 0;
    return connection->validated || connection->succeeded || (believes_all && connection->stats.packets_received > 1);
}

/* ---- how many -------------------------------------------------------------------------------------------------- */

static struct nb_list *list_of(netblt_connection *connection)
{
    struct nb_unvalidated_connections *all = &connection->endpoint->unvalidated;
    return connection->unvalidated.talks ? &all->talking : &all->silent;
}

void nb_validation_begin(netblt_connection *connection, size_t open_bytes)
{
    netblt_endpoint *endpoint = connection->endpoint;
    if (endpoint->config.unvalidated_bytes_per_s == 0)
        return;
    connection->unvalidated =
        (struct nb_unvalidated){.credit_bytes = NB_BUDGET_FACTOR * (uint64_t)open_bytes, .chance = 1};
    nb_unvalidated_append(list_of(connection), connection);
    endpoint->unvalidated.count++;
}

void nb_validation_forget(netblt_connection *connection)
{
    if (!nb_validation_is_missing(connection))
        return;
    nb_unvalidated_remove(connection);
    connection->endpoint->unvalidated.count--;
}

void nb_validation_done(netblt_connection *connection)
{
    if (connection->validated)
        return;
    bool was_missing = nb_validation_is_missing(connection);
    connection->validated = true;
    nb_validation_forget(connection);
    if (connection->started && connection->role == NETBLT_SENDER)
        nb_sender_end_challenges(connection);
    else if (connection->started)
        nb_control_timer_for_unvalidated(&connection->receiver.control_timer, false);
    nb_mark(connection);
    if (was_missing && connection->client->validated != NULL)
        connection->client->validated(connection->context, connection);
}

/* ---- how much -------------------------------------------------------------------------------------------------- */

void nb_validation_received(netblt_connection *connection, const struct nb_packet *packet)
{
    if (!nb_validation_is_missing(connection))
        return;
    connection->unvalidated.credit_bytes += NB_BUDGET_FACTOR * (uint64_t)packet->length;
    if (packet->type == NB_OPEN || connection->unvalidated.talks)
        return;
    nb_unvalidated_remove(connection);
    connection->unvalidated.talks = true;
    nb_unvalidated_append(list_of(connection), connection);
}

netblt_time nb_validation_send_at(const netblt_connection *connection, size_t bytes, netblt_time now)
{
    return nb_validation_is_missing(connection)
               ? nb_budget_at(&connection->endpoint->budget, connection->unvalidated.credit_bytes, bytes, now)
               : now;
}

void nb_validation_sent(netblt_connection *connection, size_t bytes, netblt_time now)
{
    if (nb_validation_is_missing(connection))
        nb_budget_spend(&connection->endpoint->budget, &connection->unvalidated.credit_bytes, bytes, now);
}

uint16_t nb_validation_death_timer(const netblt_endpoint *endpoint, uint16_t own_s, uint16_t peer_s)
{
    uint32_t most = DEATH_TIMER_FACTOR_MAX * (uint32_t)peer_s;
    return endpoint->config.unvalidated_bytes_per_s == 0 || peer_s == 0 || own_s <= most ? own_s : (uint16_t)most;
}

/* ---- buffers --------------------------------------------------------------------------------------------------- */

static uint64_t bytes_in_packets(const netblt_connection *connection, uint32_t packets)
{
    return (uint64_t)packets * nb_align4(NETBLT_DATA_HEADER_BYTES + (size_t)connection->agreed.packet_size);
}

bool nb_validation_allows_buffer(const netblt_connection *connection)
{
    const netblt_params *agreed = &connection->agreed;
    uint64_t bytes = bytes_in_packets(connection, nb_packets_per_buffer(agreed->buffer_size, agreed->packet_size));
    size_t outstanding = connection->sender.outstanding;
    return !nb_validation_is_missing(connection) || outstanding == 0 ||
           (outstanding + 1) * bytes <= connection->endpoint->config.unvalidated_bytes_per_s;
}

bool nb_validation_start_buffer(netblt_connection *connection, uint32_t packets)
{
    if (!nb_validation_is_missing(connection))
        return false;
    connection->unvalidated.started_bytes += bytes_in_packets(connection, packets);
    return connection->unvalidated.started_bytes > WHOLE_BYTES_MAX;
}

void nb_validation_named(netblt_connection *connection, double chance)
{
    if (!nb_validation_is_missing(connection))
        return;
    connection->unvalidated.chance *= chance;
    if (connection->unvalidated.chance <= CHANCE_MAX)
        nb_validation_done(connection);
}
