/* SPDX-License-Identifier: BSD-2-Clause */
/* Chooses the part that processes a packet, a timer or output, by the stage of the connection. */
#include "endpoint/stages.h"

#include "connection/close.h"
#include "connection/endpoint_state.h"
#include "connection/observe.h"
#include "connection/pending_end.h"
#include "connection/validation.h"
#include "endpoint/open.h"
#include "receiver/receiver.h"
#include "sender/sender.h"

#include <string.h>

/* ---- input --------------------------------------------------------------------------------------------------- */

/* Packets that belong to the data phase. Those that come from the wrong direction are ignored (ROBUST-08). */
static void input_transfer(netblt_connection *connection, const struct nb_packet *packet, netblt_time now)
{
    bool receives = connection->role == NETBLT_RECEIVER;
    switch (packet->type) {
    case NB_DATA:
    case NB_LDATA:
        if (receives && nb_connection_transfers(connection))
            nb_receiver_on_data(connection, packet, now);
        break;
    case NB_NULL_ACK:
        if (receives && nb_connection_transfers(connection))
            nb_receiver_on_null_ack(connection, packet, now);
        break;
    case NB_CONTROL:
        connection->stats.control_packets_received++;
        if (!receives)
            nb_sender_on_control(connection, packet, now);
        break;
    case NB_DONE:
        if (!receives)
            nb_close_on_done(connection);
        break;
    default: /* KEEPALIVE has done its work by arriving (TIMER-12); REFUSED means nothing here */
        break;
    }
}

/* While opening, the parameters are not known: only what ends or completes the opening counts (AMB-22). */
static void input_opening(netblt_connection *connection, const struct nb_packet *packet, netblt_time now)
{
    switch (packet->type) {
    case NB_OPEN:
        nb_open_on_open(connection, packet, now);
        break;
    case NB_RESPONSE:
        nb_open_on_response(connection, packet, now);
        break;
    case NB_REFUSED:
    case NB_ABORT:
        nb_open_on_refused(connection, packet, now);
        break;
    default:
        break;
    }
}

void nb_connection_input(netblt_connection *connection, const struct nb_packet *packet, netblt_time now)
{
    if (connection->state == NETBLT_STATE_CLOSED)
        return;
    nb_validation_received(connection, packet);
    if (connection->state == NETBLT_STATE_OPENING) {
        input_opening(connection, packet, now);
        return;
    }
    connection->received_at = now; /* TIMER-10, AMB-59 */
    switch (packet->type) {
    case NB_OPEN:
        nb_open_on_open(connection, packet, now);
        break;
    case NB_RESPONSE:
        nb_open_on_response(connection, packet, now);
        break;
    case NB_QUIT:
        nb_close_on_quit(connection, packet, now);
        break;
    case NB_QUITACK:
        nb_close_on_quitack(connection);
        break;
    case NB_ABORT:
        nb_close_on_abort(connection, packet, now);
        break;
    default:
        connection->transfers = true;
        nb_pending_end_refute(connection, now);
        input_transfer(connection, packet, now);
        break;
    }
}

/* ---- time ---------------------------------------------------------------------------------------------------- */

static netblt_time nb_earlier(netblt_time a, netblt_time b)
{
    return a < b ? a : b;
}

/* KEEPALIVE goes out when nothing else did for a share of the peer's death timer (TIMER-11, AMB-51). A quitting end
 * repeats QUIT instead, and an end that has acknowledged a QUIT is silent (QUIT-05). */
static netblt_time keepalive_at(const netblt_connection *connection)
{
    if (connection->state == NETBLT_STATE_OPENING || connection->state == NETBLT_STATE_QUITTING ||
        connection->quit_dally)
        return NETBLT_TIME_NEVER;
    return connection->sent_at + nb_keepalive_interval(nb_profile_of(connection), connection->peer_death_timer_s,
                                                       connection->own.death_timer_s);
}

void nb_connection_timeout(netblt_connection *connection, netblt_time now)
{
    if (connection->state == NETBLT_STATE_CLOSED)
        return;
    if (now >= connection->open_retry_at)
        nb_open_timeout(connection, now);
    else if (connection->state == NETBLT_STATE_OPENING && nb_pending_end_is_due(connection, now))
        nb_open_believe_refusal(connection);
    nb_close_timeout(connection, now);
    if (connection->state == NETBLT_STATE_CLOSED)
        return;
    if (connection->role == NETBLT_RECEIVER && connection->started && nb_connection_transfers(connection))
        nb_receiver_timeout(connection, now);
    if (connection->state == NETBLT_STATE_CLOSED || now < keepalive_at(connection))
        return;
    if (nb_connection_has_output(connection, now)) /* any other packet does as well */
        return;
    connection->owed |= NB_OWED_KEEPALIVE;
    connection->keepalive_runs = false;
    nb_observe_timer(connection, NETBLT_EVENT_TIMER_EXPIRED, NETBLT_TIMER_KEEPALIVE, NB_NO_BUFFER, NETBLT_TIME_NEVER);
}

/* Reports to the observer that KEEPALIVE's timer runs, or that it does not. */
static void report_keepalive(netblt_connection *connection)
{
    netblt_time at = connection->state == NETBLT_STATE_CLOSED ? NETBLT_TIME_NEVER : keepalive_at(connection);
    bool runs = at != NETBLT_TIME_NEVER;
    if (runs == connection->keepalive_runs)
        return;
    connection->keepalive_runs = runs;
    nb_observe_timer(connection, runs ? NETBLT_EVENT_TIMER_SET : NETBLT_EVENT_TIMER_CLEARED, NETBLT_TIMER_KEEPALIVE,
                     NB_NO_BUFFER, at);
}

void nb_connection_step(netblt_connection *connection, netblt_time now)
{
    if (connection->quit_wanted)
        nb_close_step_quit(connection, now);
    if ((connection->owed & NB_OWED_KEEPALIVE) == 0)
        report_keepalive(connection);
    if (connection->state == NETBLT_STATE_CLOSED || !connection->started)
        return;
    if (connection->role == NETBLT_SENDER)
        nb_sender_step(connection, now);
    else if (nb_connection_transfers(connection))
        nb_receiver_step(connection);
}

netblt_time nb_connection_deadline(const netblt_connection *connection, netblt_time now)
{
    netblt_time at = nb_earlier(connection->open_retry_at, connection->dally_until);
    at = nb_earlier(at, connection->pending_end.until);
    at = nb_earlier(at, connection->quit_retry_at);
    at = nb_earlier(at, connection->quit_latest_at);
    if (connection->state == NETBLT_STATE_OPENING)
        return at;
    at = nb_earlier(at, nb_close_death_at(connection));
    if ((connection->owed & NB_OWED_KEEPALIVE) == 0)
        at = nb_earlier(at, keepalive_at(connection));
    if (connection->started && nb_connection_transfers(connection) && !connection->pending_end.quiet) {
        if (connection->role == NETBLT_RECEIVER)
            at = nb_earlier(at, nb_receiver_deadline(connection));
        else if (!nb_link_is_listed(&connection->ready))
            at = nb_earlier(at, nb_sender_next_data(connection, now));
    }
    return at;
}

/* ---- output -------------------------------------------------------------------------------------------------- */

/* What may leave of the packets that are owed. */
static unsigned owed_now(const netblt_connection *connection)
{
    return connection->pending_end.quiet ? connection->owed & (unsigned)NB_OWED_QUITACK : connection->owed;
}

bool nb_connection_has_output(const netblt_connection *connection, netblt_time now)
{
    if (owed_now(connection) != 0)
        return true;
    return connection->started && !connection->pending_end.quiet && connection->role == NETBLT_SENDER &&
           nb_connection_transfers(connection) && nb_sender_next_data(connection, now) <= now;
}

/* The packet of one flag of enum nb_owed. All but CONTROL, whose largest size is known before, fit
 * NB_OPEN_MAX_BYTES. */
static size_t write_owed(netblt_connection *connection, unsigned owed, uint8_t *packet, size_t capacity,
                         netblt_time now)
{
    struct nb_emitter emitter = nb_connection_emitter(connection);
    switch (owed) {
    case NB_OWED_OPEN:
        return nb_open_write(connection, packet, now);
    case NB_OWED_RESPONSE:
        return nb_open_write_response(connection, packet, now);
    case NB_OWED_QUITACK:
        return nb_write_bare(packet, &emitter, NB_QUITACK);
    case NB_OWED_QUIT:
        return nb_close_write_quit(connection, packet);
    case NB_OWED_CONTROL:
        return nb_receiver_write_control(connection, packet, capacity, now);
    case NB_OWED_NULL_ACK:
        return nb_sender_write_null_ack(connection, packet);
    default:
        return nb_write_bare(packet, &emitter, NB_KEEPALIVE);
    }
}

/* One packet of those owed. Whatever else is owed with it makes a KEEPALIVE superfluous. */
static size_t output_owed(netblt_connection *connection, uint8_t *packets, size_t capacity, netblt_output *output,
                          netblt_time now)
{
    unsigned first = owed_now(connection) & -owed_now(connection);
    uint8_t packet[NB_OPEN_MAX_BYTES];
    bool direct = first == NB_OWED_CONTROL || capacity >= sizeof packet;
    if (first == NB_OWED_CONTROL && capacity < connection->receiver.queue.limit_bytes) {
        output->needed = connection->receiver.queue.limit_bytes;
        return 0;
    }
    size_t bytes = write_owed(connection, first, direct ? packets : packet, capacity, now);
    if (bytes > capacity) {
        output->needed = bytes;
        return 0;
    }
    connection->owed &= ~(first == NB_OWED_OPEN ? first : first | NB_OWED_KEEPALIVE);
    if (nb_validation_send_at(connection, bytes, now) > now) {
        connection->sent_at = now; /* or a KEEPALIVE would be due again at this very moment, without end */
        return 0; /* as if the network had lost it: every one of these packets is repeated where it matters */
    }
    nb_validation_sent(connection, bytes, now);
    if (!direct)
        memcpy(packets, packet, bytes);
    output->segment_bytes = bytes;
    output->count = 1;
    output->length = bytes;
    return bytes;
}

size_t nb_connection_output(netblt_connection *connection, uint8_t *packets, size_t capacity, netblt_output *output,
                            netblt_time now)
{
    size_t bytes = 0;
    *output = (netblt_output){.path = connection->path};
    if (owed_now(connection) != 0)
        bytes = output_owed(connection, packets, capacity, output, now);
    else if (nb_connection_has_output(connection, now))
        bytes = nb_sender_write_data(connection, packets, capacity, output, now);
    if (bytes > 0) {
        connection->sent_at = now;
        connection->stats.packets_sent += output->count;
        connection->stats.bytes_sent += bytes;
        nb_observe_sent(connection->endpoint, connection, packets, bytes, output->segment_bytes);
    }
    return bytes;
}
