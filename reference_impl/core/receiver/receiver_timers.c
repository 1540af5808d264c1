/* SPDX-License-Identifier: BSD-2-Clause */
/* The data receiver: control and data timers, RESEND, acknowledgements (RFC 998 5.2.2). */
#include "base/bitmap.h"
#include "base/serial.h"
#include "connection/endpoint_state.h"
#include "connection/observe.h"
#include "connection/receive_buffers.h"
#include "rate/rate_pair.h"
#include "receiver/receiver.h"

/* Control and data timers at the data receiver (RFC 998 5.2.1, 5.2.2). */

/* ---- data timers ----------------------------------------------------------------------------------------------- */

/* Packets that have still to arrive for buffer i: all of it while its LDATA has not been seen. */
static uint32_t missing(const struct nb_receiver *receiver, const struct nb_receive_buffer *buffer)
{
    uint32_t packets = buffer->packets != 0 ? buffer->packets : receiver->packets_per_buffer;
    return buffer->state == NB_RECEIVED ? 0 : packets - buffer->received;
}

/* TIMER-09: the buffer's own packets and those of all lower buffers, which come first (ORDER-01). */
static netblt_time expected_time(const struct nb_receiver *receiver, size_t i)
{
    uint64_t packets = 0;
    for (size_t k = 0; k <= i; k++)
        packets += missing(receiver, nb_receiver_buffer(receiver, k));
    return nb_transfer_time(packets, receiver->burst, &receiver->spacing);
}

static void arm(netblt_connection *connection, size_t i, netblt_time at)
{
    struct nb_receiver *receiver = &connection->receiver;
    nb_set_timer(connection, NETBLT_TIMER_DATA, receiver->first + i, &nb_receiver_buffer(receiver, i)->timer_at, at);
    receiver->data_timer_from = at < receiver->data_timer_from ? at : receiver->data_timer_from;
}

void nb_receiver_arm_tight(netblt_connection *connection, size_t i, netblt_time now)
{
    struct nb_receiver *receiver = &connection->receiver;
    uint64_t packets = 0;
    for (size_t k = 0; k <= i; k++) {
        struct nb_receive_buffer *buffer = nb_receiver_buffer(receiver, k);
        packets += missing(receiver, buffer);
        if (buffer->state != NB_ACKED && buffer->state != NB_RECEIVING)
            continue; /* TIMER-06: buffers below that wait still, or for a rest, are due soon, but not now */
        /* What the sender owes of a lower buffer that it has begun it has sent before this packet (ORDER-01). */
        bool passed = k < i && buffer->received > 0 && !receiver->spacing.decides;
        netblt_time expected = passed ? 0 : nb_transfer_time(packets, receiver->burst, &receiver->spacing);
        netblt_time at = now + nb_data_timer_tight(nb_profile_of(connection), expected);
        /* Only ever tighter: were it armed again by every buffer that begins, it would never expire. */
        if (k == i || at < buffer->timer_at)
            arm(connection, k, at);
    }
}

void nb_receiver_arm_at_ldata(netblt_connection *connection, size_t i, netblt_time now)
{
    const struct nb_receiver *receiver = &connection->receiver;
    const struct nb_receive_buffer *buffer = nb_receiver_buffer(receiver, i);
    netblt_time at = now + nb_data_timer_tight(nb_profile_of(connection), 0);
    if (buffer->state == NB_RECEIVING && at < buffer->timer_at && !receiver->spacing.decides)
        arm(connection, i, at);
}

/* Retransmissions of buffer i will precede what was expected of the buffers above it, whose timers must allow for them.
 */
static void postpone_above(netblt_connection *connection, size_t i)
{
    struct nb_receiver *receiver = &connection->receiver;
    uint32_t packets = missing(receiver, nb_receiver_buffer(receiver, i));
    netblt_time delay = nb_share_of_transfer(packets, receiver->burst, &receiver->spacing);
    for (size_t k = i + 1; k < receiver->buffers.count; k++) {
        struct nb_receive_buffer *buffer = nb_receiver_buffer(receiver, k);
        if (buffer->timer_at != NETBLT_TIME_NEVER)
            nb_set_timer(connection, NETBLT_TIMER_DATA, receiver->first + k, &buffer->timer_at,
                         buffer->timer_at + delay);
    }
}

/* TIMER-04: the buffer's GO or RESEND is acknowledged and its timer starts: loose as long as nothing of the buffer was
 * seen, else for what is missing (AMB-45). A packet that came before the ack did is as good as one that comes after. */
static void leave_ack_wait(netblt_connection *connection, size_t i, bool asked, netblt_time now)
{
    struct nb_receiver *receiver = &connection->receiver;
    struct nb_receive_buffer *buffer = nb_receiver_buffer(receiver, i);
    buffer->state = buffer->packet_since_request ? NB_RECEIVING : NB_ACKED;
    if (buffer->packet_since_request)
        buffer->expiries = 0;
    bool loose = buffer->received == 0;
    netblt_time expected = expected_time(receiver, i);
    arm(connection, i, now + nb_data_timer_waiting(nb_profile_of(connection), expected, loose, buffer->expiries));
    if (asked)
        postpone_above(connection, i);
    buffer->packet_since_request = false;
}

/* ---- RESEND ---------------------------------------------------------------------------------------------------- */

/* Fills `list` with missing packet numbers from `from` on; *next is the first that did not fit, or 0. When the LDATA
 * was not seen the list runs up to the last number that a full buffer has (AMB-32, RESEND-05). */
static uint16_t list_missing(const struct nb_receiver *receiver, const struct nb_receive_buffer *buffer, uint32_t from,
                             uint16_t *list, uint16_t room, uint32_t *next)
{
    uint32_t packets = buffer->packets != 0 ? buffer->packets : receiver->packets_per_buffer;
    uint16_t count = 0;
    uint32_t packet = nb_bitmap_next(buffer->got, from, packets, false);
    for (; packet < packets && count < room; packet = nb_bitmap_next(buffer->got, packet + 1, packets, false))
        list[count++] = (uint16_t)packet;
    *next = packet < packets ? packet : 0;
    return count;
}

/* Requests what is missing from number `from` on. What does not fit one message is requested when that is acknowledged
 * (AMB-33), so there is one open request per buffer (RESEND-06). Without room it waits until messages are acknowledged.
 * False when nothing is missing, or memory is short. */
static bool request(netblt_connection *connection, size_t i, uint32_t from)
{
    struct nb_receiver *receiver = &connection->receiver;
    struct nb_receive_buffer *buffer = nb_receiver_buffer(receiver, i);
    uint16_t room = nb_control_queue_resend_room(&receiver->queue);
    buffer->resend_waits = room == 0;
    if (buffer->resend_waits) {
        receiver->resends_waiting++;
        buffer->state = NB_ACK_WAIT;
        buffer->resend_from = from;
        return true;
    }
    if (room > missing(receiver, buffer))
        room = (uint16_t)missing(receiver, buffer);
    /* Room for one more, because nothing may be missing any more. */
    uint16_t *list = nb_allocate(connection->allocator, (room + 1u) * sizeof *list);
    uint32_t next = 0;
    uint16_t count = list == NULL ? 0 : list_missing(receiver, buffer, from, list, room, &next);
    uint32_t number = receiver->first_number + (uint32_t)(receiver->first + i);
    bool queued = count > 0 && nb_control_queue_resend(&receiver->queue, number, list, count, &buffer->awaited);
    nb_release(connection->allocator, list);
    if (!queued && (list == NULL || count > 0)) {
        nb_receiver_out_of_memory(connection);
        return false;
    }
    buffer->resend_from = next;
    buffer->resend_incomplete = next != 0;
    if (!queued)
        return false;
    buffer->state = NB_ACK_WAIT;
    buffer->resend_queued = true;
    connection->stats.resends_sent++;
    return true;
}

/* TIMER-07 */
static void data_timer_expired(netblt_connection *connection, size_t i)
{
    struct nb_receive_buffer *buffer = nb_receiver_buffer(&connection->receiver, i);
    nb_timer_expired(connection, NETBLT_TIMER_DATA, connection->receiver.first + i, &buffer->timer_at);
    connection->stats.data_timeouts++;
    buffer->expiries = buffer->state == NB_RECEIVING ? 0 : buffer->expiries + 1;
    buffer->packet_since_request = false;
    request(connection, i, 0);
}

/* ---- acknowledgements ------------------------------------------------------------------------------------------ */

/* What was left to ask for, which may have arrived meanwhile. */
static void request_rest(netblt_connection *connection, size_t i, netblt_time now)
{
    uint32_t from = nb_receiver_buffer(&connection->receiver, i)->resend_from;
    if (!request(connection, i, from) && connection->state == NETBLT_STATE_OPEN)
        leave_ack_wait(connection, i, true, now);
}

static void message_acked(netblt_connection *connection, const struct nb_control_message *message, netblt_time now)
{
    struct nb_receiver *receiver = &connection->receiver;
    if (message->type == NB_OK)
        return;
    uint32_t i = nb_buffer_distance(message->buffer, receiver->first_number + (uint32_t)receiver->first);
    if (i >= receiver->buffers.count)
        return; /* delivered, or past the last buffer */
    struct nb_receive_buffer *buffer = nb_receiver_buffer(receiver, i);
    if (buffer->state != NB_ACK_WAIT || buffer->awaited != message->seq)
        return;
    if (message->type != NB_RESEND || !buffer->resend_incomplete)
        leave_ack_wait(connection, i, message->type == NB_RESEND, now);
    else
        request_rest(connection, i, now);
}

/* Requests that waited for room, the lowest buffer first. */
static void request_waiting(netblt_connection *connection, netblt_time now)
{
    struct nb_receiver *receiver = &connection->receiver;
    bool any = receiver->resends_waiting > 0;
    receiver->resends_waiting = 0;
    for (size_t i = 0; any && i < receiver->buffers.count && connection->state == NETBLT_STATE_OPEN; i++) {
        struct nb_receive_buffer *buffer = nb_receiver_buffer(receiver, i);
        if (!buffer->resend_waits || buffer->state != NB_ACK_WAIT)
            continue;
        request_rest(connection, i, now);
    }
}

/* Karn, per packet: the message that was the highest of exactly one CONTROL times that one's round trip. */
static void measure_round_trip(struct nb_receiver *receiver, const struct nb_control_message *message, netblt_time now)
{
    if (message->times_highest == 1) {
        nb_control_timer_sample(&receiver->control_timer, now - message->highest_at);
        nb_rate_control_round_trip(&receiver->rate, now - message->highest_at, now);
    } else if (nb_control_timer_guess(&receiver->control_timer, now - message->first_highest_at)) {
        nb_rate_control_round_trip_guess(&receiver->rate, now - message->first_highest_at);
    }
}

/* What the sender has now may be a slower pair, by which the timers that start now must wait. */
static void expect_slower_pace(struct nb_receiver *receiver)
{
    struct nb_burst pair = nb_rate_control_in_force(&receiver->rate);
    if (nb_rate_control_measures(&receiver->rate) && nb_pair_rate(pair) < nb_pair_rate(receiver->burst))
        receiver->burst = pair;
}

void nb_receiver_on_ack(netblt_connection *connection, uint16_t ack, netblt_time now)
{
    struct nb_receiver *receiver = &connection->receiver;
    if (!nb_control_queue_ack_is_news(&receiver->queue, ack))
        return;
    nb_rate_control_acked(&receiver->rate, ack);
    expect_slower_pace(receiver);
    const struct nb_control_message *message;
    while ((message = nb_control_queue_acked(&receiver->queue, ack)) != NULL) {
        if (message->seq == ack && message->times_highest > 0)
            measure_round_trip(receiver, message, now);
        struct nb_control_message copy = *message;
        copy.packets = NULL;
        nb_control_queue_pop(&receiver->queue);
        message_acked(connection, &copy, now);
        if (connection->state == NETBLT_STATE_CLOSED)
            return;
    }
    request_waiting(connection, now);
    if (receiver->queue.sent == 0)
        nb_set_timer(connection, NETBLT_TIMER_CONTROL, NB_NO_BUFFER, &receiver->control_at,
                     NETBLT_TIME_NEVER); /* TIMER-02: all that was sent is acknowledged */
}

/* ---- expiry ---------------------------------------------------------------------------------------------------- */

netblt_time nb_receiver_deadline(const netblt_connection *connection)
{
    const struct nb_receiver *receiver = &connection->receiver;
    return receiver->control_at < receiver->data_timer_from ? receiver->control_at : receiver->data_timer_from;
}

/* When to look again at a buffer whose timer expired while its packets still arrive, more slowly than expected: the
 * first buffer shows how slow the path is. What is missing of it is then on its way. */
static netblt_time still_arriving_until(const netblt_connection *connection, const struct nb_receive_buffer *buffer)
{
    bool decides = connection->receiver.spacing.decides;
    if (buffer->state != NB_RECEIVING || buffer->packets != 0 || buffer->latest == 0 || decides)
        return 0;
    return buffer->latest_at + nb_data_timer_tight(nb_profile_of(connection), 0);
}

static void run_data_timers(netblt_connection *connection, netblt_time now)
{
    struct nb_receiver *receiver = &connection->receiver;
    receiver->data_timer_from = NETBLT_TIME_NEVER;
    for (size_t i = 0; i < receiver->buffers.count && nb_connection_transfers(connection); i++) {
        struct nb_receive_buffer *buffer = nb_receiver_buffer(receiver, i);
        netblt_time until = still_arriving_until(connection, buffer);
        if (buffer->timer_at <= now && until > now)
            arm(connection, i, until);
        if (buffer->timer_at <= now)
            data_timer_expired(connection, i);
        if (buffer->timer_at < receiver->data_timer_from)
            receiver->data_timer_from = buffer->timer_at;
    }
}

void nb_receiver_timeout(netblt_connection *connection, netblt_time now)
{
    struct nb_receiver *receiver = &connection->receiver;
    if (now >= receiver->control_at) {
        /* TIMER-01: the whole control packet again; nothing but the death timer ends this. */
        nb_control_timer_back_off(&receiver->control_timer);
        nb_rate_control_timeout(&receiver->rate);
        nb_timer_expired(connection, NETBLT_TIMER_CONTROL, NB_NO_BUFFER,
                         &receiver->control_at); /* armed when it leaves */
        connection->stats.control_timeouts++;
        connection->owed |= NB_OWED_CONTROL;
    }
    if (now >= receiver->data_timer_from)
        run_data_timers(connection, now);
}
