/* SPDX-License-Identifier: BSD-2-Clause */
#include "proof.h"

#include "bytes.h"
#include "close.h"
#include "endpoint_internal.h"
#include "params.h"

/* An unvalidated peer gets KEEPALIVEs until our own death timer ends the connection (TIMER-11), four in the time of its
 * own: so many times its own is the death timer that we declare to it. A peer that cannot hear us is gone long before.
 */
#define DEATH_TIMER_FACTOR_MAX 30
/* Grants of unproven_bytes. The first is for the first transmission, the second comes as soon as it is needed: a path
 * that loses every second packet needs no more. The others come 1, 2, 4 and 8 seconds apart. */
#define GRANTS_MAX NETBLT_UNPROVEN_GRANTS
#define GRANTS_AT_ONCE 2
#define GRANT_WAIT_US UINT64_C(1000000)

bool nb_proof_is_missing(const netblt_connection *connection)
{
    return connection->stranger.counted;
}

/* ---- how many -------------------------------------------------------------------------------------------------- */

void nb_proof_wanted(netblt_connection *connection)
{
    if (connection->endpoint->config.unproven_bytes == 0)
        return;
    struct nb_strangers *strangers = &connection->endpoint->strangers;
    connection->stranger = (struct nb_stranger){
        .counted = true,
        .before = strangers->newest,
        .buffers = connection->endpoint->config.unproven_bytes,
        .bytes = connection->endpoint->config.unproven_bytes,
        .grants = 1,
    };
    if (strangers->newest != NULL)
        strangers->newest->stranger.next = connection;
    else
        strangers->oldest = connection;
    strangers->newest = connection;
    strangers->count++;
}

void nb_proof_forget(netblt_connection *connection)
{
    struct nb_strangers *strangers = &connection->endpoint->strangers;
    struct nb_stranger *stranger = &connection->stranger;
    if (!stranger->counted)
        return;
    if (stranger->before != NULL)
        stranger->before->stranger.next = stranger->next;
    else
        strangers->oldest = stranger->next;
    if (stranger->next != NULL)
        stranger->next->stranger.before = stranger->before;
    else
        strangers->newest = stranger->before;
    strangers->count--;
    stranger->counted = false;
}

void nb_proof_given(netblt_connection *connection)
{
    connection->proven = true;
    nb_proof_forget(connection);
}

void nb_proof_make_room(netblt_endpoint *endpoint)
{
    uint32_t most = endpoint->config.unproven_connections;
    if (most != 0 && endpoint->strangers.count >= most)
        nb_close_evict(endpoint->strangers.oldest);
}

/* ---- how much -------------------------------------------------------------------------------------------------- */

uint16_t nb_proof_death_timer(const netblt_endpoint *endpoint, uint16_t own_s, uint16_t peer_s)
{
    uint32_t most = DEATH_TIMER_FACTOR_MAX * (uint32_t)peer_s;
    return endpoint->config.unproven_bytes == 0 || peer_s == 0 || own_s <= most ? own_s : (uint16_t)most;
}

/* What a whole buffer costs in packets. */
static uint64_t buffer_bytes(const netblt_connection *connection)
{
    const netblt_params *agreed = &connection->agreed;
    return (uint64_t)nb_packets_per_buffer(agreed->buffer_size, agreed->packet_size) *
           nb_align4(NETBLT_DATA_HEADER_BYTES + (size_t)agreed->packet_size);
}

bool nb_proof_allows_buffer(const netblt_connection *connection)
{
    bool first = connection->sender.first + connection->sender.buffers.count == 0;
    return !nb_proof_is_missing(connection) || first || buffer_bytes(connection) <= connection->stranger.buffers;
}

void nb_proof_buffer_taken(netblt_connection *connection)
{
    uint64_t bytes = buffer_bytes(connection);
    uint32_t *left = &connection->stranger.buffers;
    *left = bytes < *left ? *left - (uint32_t)bytes : 0;
}

netblt_time nb_proof_data_at(const netblt_connection *connection, size_t bytes)
{
    const struct nb_stranger *stranger = &connection->stranger;
    if (!nb_proof_is_missing(connection) || bytes <= stranger->bytes)
        return 0;
    return stranger->grants < GRANTS_MAX ? stranger->next_grant_at : NETBLT_TIME_NEVER;
}

void nb_proof_data_sent(netblt_connection *connection, size_t bytes, netblt_time now)
{
    struct nb_stranger *stranger = &connection->stranger;
    if (!nb_proof_is_missing(connection))
        return;
    if (bytes > stranger->bytes) {
        uint32_t grant = connection->endpoint->config.unproven_bytes;
        stranger->grants++;
        stranger->bytes = bytes > grant ? (uint32_t)bytes : grant;
        stranger->next_grant_at = now + (GRANT_WAIT_US << (stranger->grants - GRANTS_AT_ONCE));
    }
    stranger->bytes -= (uint32_t)bytes;
}
