/* SPDX-License-Identifier: BSD-2-Clause */
/* The data sender: DATA and LDATA that leave, in their order (RFC 998 5.2). */
#include "base/bitmap.h"
#include "base/bytes.h"
#include "connection/connection.h"
#include "connection/endpoint_state.h"
#include "connection/send_buffers.h"
#include "connection/validation.h"
#include "sender/sender.h"

#include <assert.h>

/* Which DATA packet leaves next, and when. The lowest-numbered buffer that has anything to send goes first, with its
 * retransmissions and its first transmissions alike (ORDER-01, ORDER-02). Inside a buffer, numbers ascend (ORDER-03):
 * retransmissions all lie below the packets never sent, so they go first there too. */

/* A buffer that was never started stays so once the client wants to quit (QUIT-04). */
static bool may_send(const netblt_connection *connection, const struct nb_send_buffer *buffer)
{
    return nb_send_buffer_has_work(buffer) && !(connection->quit_wanted && buffer->next_new == 0);
}

/* The buffer of the next packet, or NULL; *index is its index. */
static struct nb_send_buffer *lowest_with_work(const netblt_connection *connection, uint64_t *index)
{
    for (*index = connection->sender.work_from;; (*index)++) {
        struct nb_send_buffer *buffer = nb_sender_buffer(connection, *index);
        if (buffer == NULL || may_send(connection, buffer))
            return buffer;
    }
}

static uint32_t next_packet(const struct nb_send_buffer *buffer)
{
    if (buffer->retransmit_count > 0)
        return nb_bitmap_next(buffer->retransmit, buffer->retransmit_from, buffer->packets, true);
    return buffer->next_new;
}

static uint32_t data_bytes(const netblt_connection *connection, const struct nb_send_buffer *buffer, uint32_t packet)
{
    uint32_t size = connection->sender.packet_size;
    return packet + 1 < buffer->packets ? size : buffer->length - packet * size;
}

static void mark_sent(netblt_connection *connection, struct nb_send_buffer *buffer, uint32_t packet)
{
    if (packet < buffer->next_new) {
        nb_bitmap_clear(buffer->retransmit, packet);
        buffer->retransmit_count--;
        buffer->retransmit_from = packet + 1;
        if (buffer->challenge == NULL || !nb_challenge_sent(buffer->challenge, packet))
            connection->stats.data_packets_retransmitted++;
    } else {
        buffer->next_new++;
        nb_send_buffer_skip_omitted(buffer);
    }
    connection->stats.data_packets_sent++;
}

/* Straight from the client's memory, first time or repeat (RFC 998 3). A repeat is the same packet but for the ack
 * (RESEND-03). */
static size_t write_packet(netblt_connection *connection, const struct nb_send_buffer *buffer, uint32_t packet,
                           uint8_t *out)
{
    const struct nb_sender *sender = &connection->sender;
    struct nb_emitter emitter = nb_connection_emitter(connection);
    struct nb_data_fields fields = {
        .buffer = buffer->number,
        .high_seq = sender->sequence.high, /* CTRL-06 */
        .packet = (uint16_t)packet,
        .last_buffer = buffer->last, /* on each of its packets: DATA-09 */
        .data = buffer->length == 0 ? NULL : buffer->data + (size_t)packet * sender->packet_size,
        .length = data_bytes(connection, buffer, packet),
    };
    enum nb_type type = packet + 1 == buffer->packets ? NB_LDATA : NB_DATA; /* DATA-04 */
    return nb_write_data(out, &emitter, type, &fields, connection->agreed.data_checksum);
}

static size_t packet_bytes(const netblt_connection *connection, const struct nb_send_buffer *buffer)
{
    return nb_align4(NETBLT_DATA_HEADER_BYTES + data_bytes(connection, buffer, next_packet(buffer)));
}

netblt_time nb_sender_next_data(const netblt_connection *connection, netblt_time now)
{
    uint64_t index;
    const struct nb_send_buffer *buffer = lowest_with_work(connection, &index);
    if (buffer == NULL)
        return NETBLT_TIME_NEVER;
    netblt_time at = nb_pacing_next(&connection->sender.pacing, now);
    netblt_time allowed = nb_validation_send_at(connection, packet_bytes(connection, buffer), now);
    return allowed > at ? allowed : at;
}

/* Adds the next packet to a run of equal segments, of which only the last may be shorter. False when it does not fit.
 */
static bool extend_run(netblt_connection *connection, struct nb_send_buffer *buffer, uint8_t *packets, size_t capacity,
                       netblt_output *output, netblt_time now)
{
    size_t bytes = packet_bytes(connection, buffer);
    if (nb_validation_send_at(connection, bytes, now) > now)
        return false;
    if (output->count == 0 && bytes > capacity)
        output->needed = bytes;
    bool uneven = output->count > 0 && (bytes > output->segment_bytes || output->length % output->segment_bytes != 0);
    if (uneven || bytes > capacity - output->length)
        return false;
    if (buffer->next_new == 0)
        nb_pacing_new_buffer(&connection->sender.pacing);
    uint32_t packet = next_packet(buffer);
    size_t written = write_packet(connection, buffer, packet, packets + output->length);
    assert(written == bytes);
    mark_sent(connection, buffer, packet);
    nb_validation_sent(connection, written, now);
    if (output->count == 0)
        output->segment_bytes = written;
    output->length += written;
    output->count++;
    return true;
}

/* A faster pair waits for a new buffer (AMB-43). When only retransmissions are left, no new buffer may begin for a long
 * time: the pair holds at once, or they would leave at a pace slower than the path allows. */
static bool only_retransmissions_are_left(const struct nb_sender *sender)
{
    if (sender->buffers.count == 0)
        return false;
    const struct nb_send_buffer *newest = nb_ring_at(&sender->buffers, sender->buffers.count - 1);
    return newest->next_new == newest->packets; /* then so are all below: ORDER-01 */
}

size_t nb_sender_write_data(netblt_connection *connection, uint8_t *packets, size_t capacity, netblt_output *output,
                            netblt_time now)
{
    struct nb_sender *sender = &connection->sender;
    if (only_retransmissions_are_left(sender))
        nb_pacing_new_buffer(&sender->pacing);
    uint16_t allowed = nb_pacing_begin(&sender->pacing, now);
    struct nb_send_buffer *buffer = NULL;
    while (output->count < allowed) {
        buffer = lowest_with_work(connection, &sender->work_from);
        if (buffer == NULL || !extend_run(connection, buffer, packets, capacity, output, now))
            break;
    }
    nb_pacing_sent(&sender->pacing, (uint16_t)output->count);
    if (output->count == 0)
        return 0;
    uint64_t index;
    if (!nb_profile_of(connection)->bursts_survive_idle && lowest_with_work(connection, &index) == NULL)
        nb_pacing_ran_dry(&sender->pacing);
    sender->ack_owed = false;
    if (connection->stats.first_data_at == 0)
        connection->stats.first_data_at = now;
    return output->length;
}
