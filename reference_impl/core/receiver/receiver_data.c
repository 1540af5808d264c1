/* SPDX-License-Identifier: BSD-2-Clause */
/* The data receiver: DATA, LDATA and NULL-ACK that arrive (RFC 998 5.2.2). */
#include "base/bitmap.h"
#include "base/bytes.h"
#include "base/serial.h"
#include "connection/endpoint_state.h"
#include "connection/observe.h"
#include "connection/receive_buffers.h"
#include "connection/validation.h"
#include "receiver/receiver.h"
#include "wire/checksum.h"

#include <string.h>

/* DATA and LDATA at the data receiver: what is accepted, and where it goes. */

/* Where a packet's data belongs, once all is known to be possible. */
struct placement {
    size_t buffer; /* in the ring */
    uint32_t packet;
    uint32_t offset;
    uint32_t length;
    bool is_ldata;
    bool last_buffer;
};

/* AMB-02 form (c): a peer that rounds Length up counts its padding as data. Where the right size is known, it is cut.
 */
static uint32_t clip_padding(size_t length, uint32_t right_size)
{
    return length > right_size && length <= nb_align4(right_size) ? right_size : (uint32_t)length;
}

/* Whether L on this packet agrees with what is known (AMB-40): one buffer is the last, and none above it has data. */
static bool last_flag_agrees(const struct nb_receiver *receiver, size_t i, bool last_flag)
{
    if (receiver->last_known)
        return !last_flag || receiver->first + i == receiver->last_index;
    if (!last_flag)
        return true;
    for (size_t k = i + 1; k < receiver->buffers.count; k++) {
        const struct nb_receive_buffer *above = nb_receiver_buffer(receiver, k);
        if (above->received > 0)
            return false;
    }
    return true;
}

/* ROBUST-06, DATA-02..05: the length that the packet must have, and its type. */
static bool size_is_possible(const struct nb_receiver *receiver, struct placement *place, size_t length)
{
    uint32_t room = receiver->buffer_size - place->offset; /* the buffer goes on for so long */
    uint32_t full = room < receiver->packet_size ? room : receiver->packet_size;
    place->length = clip_padding(length, full);
    if (place->length > full)
        return false;
    bool final = place->packet + 1 == receiver->packets_per_buffer;
    if (!place->is_ldata)
        return place->length == full && !final;
    return place->last_buffer || (final && place->length == full);
}

/* An LDATA fixes the number of packets: it must agree with an earlier one and with all packets seen. */
static bool number_is_possible(const struct nb_receive_buffer *buffer, const struct placement *place)
{
    if (buffer->packets != 0)
        return place->is_ldata ? place->packet + 1 == buffer->packets : place->packet + 1 < buffer->packets;
    return !place->is_ldata || place->packet + 1 >= buffer->seen;
}

/* Whether a GO has named the number: a peer that uses it has received the GO, or has guessed the number. */
static bool was_asked_for(const struct nb_receiver *receiver, uint32_t number)
{
    uint64_t asked = receiver->first + receiver->buffers.count;
    return (uint64_t)nb_buffer_distance(number, receiver->first_number) < asked;
}

static bool find_place(const struct nb_receiver *receiver, const struct nb_packet *packet, struct placement *place)
{
    const struct nb_data_fields *data = &packet->data;
    uint32_t i = nb_buffer_distance(data->buffer, receiver->first_number + (uint32_t)receiver->first);
    if (i >= receiver->buffers.count)
        return false; /* never GO'd, delivered, or past the last buffer */
    const struct nb_receive_buffer *buffer = nb_receiver_buffer(receiver, i);
    if (buffer->state == NB_RECEIVED || data->packet >= receiver->packets_per_buffer)
        return false;
    if (!last_flag_agrees(receiver, i, data->last_buffer))
        return false;
    *place = (struct placement){
        .buffer = i,
        .packet = data->packet,
        .offset = (uint32_t)data->packet * receiver->packet_size,
        .is_ldata = packet->type == NB_LDATA,
        .last_buffer = data->last_buffer || (receiver->last_known && receiver->first + i == receiver->last_index),
    };
    return number_is_possible(buffer, place) && size_is_possible(receiver, place, data->length) &&
           !nb_bitmap_test(buffer->got, place->packet);
}

/* The distance of two packets with adjacent numbers is a sample of the sender's pace (R1030-07). */
static void measure_spacing(struct nb_receiver *receiver, struct nb_receive_buffer *buffer, uint32_t packet,
                            netblt_time now)
{
    if (buffer->latest != 0 && packet == buffer->latest)
        nb_spacing_sample(&receiver->spacing, now - buffer->latest_at, receiver->burst);
    buffer->latest = packet + 1;
    buffer->latest_at = now;
}

/* What automatic rate control makes of a packet, wanted or not: where it is in the order in which the sender first
 * sends all packets. */
static void measure_arrival(netblt_connection *connection, const struct nb_data_fields *data, netblt_time now)
{
    struct nb_receiver *receiver = &connection->receiver;
    if (!nb_rate_control_measures(&receiver->rate))
        return;
    uint32_t i = nb_buffer_distance(data->buffer, receiver->first_number + (uint32_t)receiver->first);
    enum nb_rate_arrival kind = NB_RATE_REPEAT;
    uint64_t position = 0;
    if (i < receiver->buffers.count && data->packet < receiver->packets_per_buffer) {
        const struct nb_receive_buffer *buffer = nb_receiver_buffer(receiver, i);
        position = (receiver->first + i) * receiver->packets_per_buffer + data->packet;
        if (position >= receiver->rate.next_position)
            kind = buffer->resend_queued ? NB_RATE_REQUESTED : NB_RATE_FRESH;
        else if (buffer->state != NB_RECEIVED && !buffer->resend_queued)
            kind = NB_RATE_LATE;
    }
    nb_rate_control_arrival(&receiver->rate, kind, position, now);
    receiver->burst = nb_rate_control_in_force(&receiver->rate);
}

/* Checks the data and puts them to `place`, if there is one: memory that is not read before the packet counts as
 * received. Where both are wanted they are one pass, as they cost more than all the rest. False when the data checksum
 * is wrong: what lies at `place` then is of no meaning. */
static bool take_data(const netblt_connection *connection, const struct nb_packet *packet,
                      const struct placement *place)
{
    const struct nb_data_fields *data = &packet->data;
    bool checked = connection->agreed.data_checksum;
    if (place == NULL || place->length == 0)
        return !checked || nb_checksum_matches(data->data, data->length, data->data_checksum);
    uint8_t *to = nb_receiver_buffer(&connection->receiver, place->buffer)->memory + place->offset;
    if (checked && data->length == place->length)
        return nb_checksum_copy_matches(to, data->data, data->length, data->data_checksum);
    if (checked && !nb_checksum_matches(data->data, data->length, data->data_checksum))
        return false;
    memcpy(to, data->data, place->length);
    return true;
}

static void mark_received(netblt_connection *connection, const struct placement *place, netblt_time now)
{
    struct nb_receiver *receiver = &connection->receiver;
    struct nb_receive_buffer *buffer = nb_receiver_buffer(receiver, place->buffer);
    nb_bitmap_set(buffer->got, place->packet);
    buffer->received++;
    connection->stats.data_packets_settled++;
    if (place->packet + 1 > buffer->seen)
        buffer->seen = place->packet + 1;
    if (place->is_ldata) {
        buffer->packets = place->packet + 1;
        buffer->length = place->offset + place->length;
    }
    measure_spacing(receiver, buffer, place->packet, now);
}

/* RFC 998 5.2.2: the transitions that a stored packet causes. */
static void advance(netblt_connection *connection, const struct placement *place, netblt_time now)
{
    struct nb_receiver *receiver = &connection->receiver;
    struct nb_receive_buffer *buffer = nb_receiver_buffer(receiver, place->buffer);
    if (place->last_buffer && !receiver->last_known)
        nb_receiver_end_at(connection, place->buffer);
    if (connection->state == NETBLT_STATE_CLOSED)
        return;
    bool has_holes = place->is_ldata && buffer->received < buffer->packets;
    if (buffer->packets != 0 && buffer->received == buffer->packets) {
        nb_receiver_complete(connection, place->buffer, now); /* CTRL-14 */
    } else if (buffer->state == NB_ACKED) {
        buffer->state = NB_RECEIVING;
        nb_receiver_arm_tight(connection, place->buffer, now); /* TIMER-05; no RESEND yet: RESEND-07 */
    } else if (buffer->state == NB_ACK_WAIT) {
        buffer->packet_since_request = true;
    }
    if (has_holes)
        nb_receiver_arm_at_ldata(connection, place->buffer, now);
}

void nb_receiver_on_data(netblt_connection *connection, const struct nb_packet *packet, netblt_time now)
{
    struct nb_receiver *receiver = &connection->receiver;
    connection->stats.data_packets_received++;
    if (connection->stats.first_data_at == 0)
        connection->stats.first_data_at = now;
    if (!was_asked_for(receiver, packet->data.buffer)) {
        connection->stats.data_packets_duplicate++;
        nb_observe_dropped(connection->endpoint, connection, "no GO has named its buffer");
        return;
    }
    nb_validation_done(connection);
    if (!nb_connection_transfers(connection))
        return;
    nb_receiver_on_ack(connection, packet->data.high_seq, now); /* even if the data is of no use: AMB-60 */
    if (!nb_connection_transfers(connection))
        return;
    measure_arrival(connection, &packet->data, now);
    struct placement place;
    bool wanted = find_place(receiver, packet, &place);
    if (!take_data(connection, packet, wanted ? &place : NULL)) {
        connection->stats.checksum_errors++; /* CKSUM-07: as if it had been lost */
        nb_observe_dropped(connection->endpoint, connection, "the checksum of its data is wrong");
        return;
    }
    if (!wanted) {
        connection->stats.data_packets_duplicate++;
        nb_observe_dropped(connection->endpoint, connection, "its data is there already, or has no place");
        return;
    }
    mark_received(connection, &place, now);
    advance(connection, &place, now);
}

void nb_receiver_on_null_ack(netblt_connection *connection, const struct nb_packet *packet, netblt_time now)
{
    const struct nb_null_ack_fields *fields = &packet->null_ack;
    struct nb_burst reported = {fields->burst_size, fields->burst_interval_ms};
    if (connection->guarded && fields->padding != nb_guard_null_ack(connection->token, fields)) {
        nb_observe_dropped(connection->endpoint, connection, "its padding is not that of a guarded connection");
        return;
    }
    if (!nb_control_queue_ack_is_current(&connection->receiver.queue, fields->high_seq)) {
        /* A later packet has brought a later pair, or a forger has guessed the padding and not the number. */
        nb_observe_dropped(connection->endpoint, connection, "its acknowledgement is old, or of messages never sent");
        return;
    }
    nb_rate_control_null_ack(&connection->receiver.rate, fields->high_seq, reported);
    if (reported.size > 0) /* the pace that data timers must expect */
        connection->receiver.burst = reported;
    nb_receiver_on_ack(connection, fields->high_seq, now);
}
