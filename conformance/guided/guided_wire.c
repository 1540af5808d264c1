/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Packets as the reference core reads and writes them. */
#include "guided.h"

#include "base/bytes.h"
#include "wire/checksum.h"
#include "wire/params.h"
#include "wire/wire.h"

#include <string.h>

static void fill_open(const struct nb_open_fields *open, guided_packet *packet)
{
    packet->unique_id = open->unique_id;
    packet->buffer_size = open->buffer_size;
    packet->transfer_size = open->transfer_size;
    packet->packet_size = open->packet_size;
    packet->burst_size = open->burst_size;
    packet->burst_interval_ms = open->burst_interval_ms;
    packet->death_timer_s = open->death_timer_s;
    packet->max_buffers = open->max_buffers;
    packet->flags = (uint16_t)(open->reserved_flags | (open->write ? NB_FLAG_WRITE : 0) |
                               (open->data_checksum ? NB_FLAG_DATA_CHECKSUM : 0));
}

static void fill_data(const struct nb_data_fields *data, guided_packet *packet)
{
    packet->buffer = data->buffer;
    packet->high_seq = data->high_seq;
    packet->packet = data->packet;
    packet->data_checksum = data->data_checksum;
    packet->data_length = (uint32_t)data->length;
    packet->flags = (uint16_t)(data->reserved_flags | (data->last_buffer ? NB_FLAG_LAST_BUFFER : 0));
}

int guided_read(const uint8_t *bytes, size_t size, guided_packet *packet)
{
    struct nb_packet read;
    enum nb_fault fault = nb_decode(bytes, size, &read);
    *packet = (guided_packet){0};
    if (fault != NB_FAULT_NONE && fault != NB_FAULT_CHECKSUM)
        return (int)fault;
    packet->type = read.type;
    packet->version = read.version;
    packet->checksum = read.checksum;
    packet->length = read.length;
    packet->local_port = read.local_port;
    packet->foreign_port = read.foreign_port;
    if (read.type == NB_OPEN || read.type == NB_RESPONSE)
        fill_open(&read.open, packet);
    if (read.type == NB_DATA || read.type == NB_LDATA)
        fill_data(&read.data, packet);
    if (read.type == NB_NULL_ACK) {
        packet->high_seq = read.null_ack.high_seq;
        packet->burst_size = read.null_ack.burst_size;
        packet->burst_interval_ms = read.null_ack.burst_interval_ms;
    }
    return (int)fault;
}

size_t guided_messages(const uint8_t *bytes, size_t size, guided_message *messages, size_t capacity, bool *fault)
{
    struct nb_packet read;
    struct nb_message message;
    enum nb_fault wrong = NB_FAULT_NONE;
    size_t count = 0;
    size_t offset = 0;
    *fault = true;
    enum nb_fault refused = nb_decode(bytes, size, &read);
    if ((refused != NB_FAULT_NONE && refused != NB_FAULT_CHECKSUM) || read.type != NB_CONTROL)
        return 0;
    while (count < capacity && nb_next_message(read.control.bytes, read.control.length, &offset, &message, &wrong)) {
        messages[count++] = (guided_message){
            .type = message.type,
            .seq = message.seq,
            .buffer = message.buffer,
            .burst_size = message.burst_size,
            .burst_interval_ms = message.burst_interval_ms,
            .control_timer_ms = message.control_timer_ms,
            .count = message.count,
            .packets_at = message.count > 0 ? (uint32_t)(message.packets - bytes) : 0,
        };
    }
    *fault = wrong != NB_FAULT_NONE;
    return count;
}

static size_t write_message(const struct nb_message *message, uint8_t *out)
{
    uint16_t packets[NETBLT_PACKET_MAX_BYTES / 2];
    switch ((enum nb_message_type)message->type) {
    case NB_GO:
        return nb_write_go(out, message->seq, message->buffer);
    case NB_OK:
        return nb_write_ok(out, message->seq, message->buffer, message->burst_size, message->burst_interval_ms,
                           message->control_timer_ms);
    case NB_RESEND:
        for (uint16_t i = 0; i < message->count; i++)
            packets[i] = nb_message_packet(message, i);
        return nb_write_resend(out, message->seq, message->buffer, packets, message->count);
    }
    return 0;
}

static size_t rewrite_control(const struct nb_packet *read, const struct nb_emitter *emitter, uint8_t *out)
{
    struct nb_message message;
    enum nb_fault fault = NB_FAULT_NONE;
    size_t offset = 0;
    size_t written = 0;
    while (nb_next_message(read->control.bytes, read->control.length, &offset, &message, &fault))
        written += write_message(&message, out + NETBLT_HEADER_BYTES + written);
    return fault == NB_FAULT_NONE ? nb_write_control(out, emitter, written) : 0;
}

static size_t rewrite_reason(const struct nb_packet *read, const struct nb_emitter *emitter, uint8_t *out)
{
    char reason[NETBLT_STRING_MAX_BYTES + 1];
    if (read->reason.length > NETBLT_STRING_MAX_BYTES)
        return 0;
    nb_text_copy(reason, read->reason);
    return nb_write_reason(out, emitter, (enum nb_type)read->type, reason);
}

size_t guided_rewrite(const uint8_t *bytes, size_t size, bool data_checksum, uint8_t *out)
{
    struct nb_packet read;
    enum nb_fault fault = nb_decode(bytes, size, &read);
    if (fault != NB_FAULT_NONE && fault != NB_FAULT_CHECKSUM)
        return 0;
    struct nb_emitter emitter = {read.version, read.local_port, read.foreign_port};
    struct nb_null_ack_fields null_ack;
    switch ((enum nb_type)read.type) {
    case NB_OPEN:
    case NB_RESPONSE:
        if (read.open.string.length > NETBLT_STRING_MAX_BYTES)
            return 0;
        return nb_write_open(out, &emitter, (enum nb_type)read.type, &read.open);
    case NB_KEEPALIVE:
    case NB_QUITACK:
    case NB_DONE:
        return nb_write_bare(out, &emitter, (enum nb_type)read.type);
    case NB_QUIT:
    case NB_ABORT:
    case NB_REFUSED:
        return rewrite_reason(&read, &emitter, out);
    case NB_DATA:
    case NB_LDATA:
        return nb_write_data(out, &emitter, (enum nb_type)read.type, &read.data, data_checksum);
    case NB_NULL_ACK:
        null_ack = read.null_ack;
        null_ack.padding = 0;
        return nb_write_null_ack(out, &emitter, &null_ack);
    case NB_CONTROL:
        return rewrite_control(&read, &emitter, out);
    }
    return 0;
}

bool guided_checksum_holds(const uint8_t *bytes, size_t length)
{
    return nb_checksum_holds(bytes, length);
}

bool guided_data_checksum_holds(const uint8_t *data, size_t length, uint16_t checksum)
{
    return nb_checksum_matches(data, length, checksum);
}

size_t guided_respond(const uint8_t *open, size_t open_size, const uint8_t *response, size_t response_size,
                      uint8_t *out)
{
    struct nb_packet asked;
    struct nb_packet answered;
    netblt_params proposed;
    netblt_params limits;
    netblt_params agreed;
    struct nb_open_fields fields;
    nb_decode(open, open_size, &asked);
    nb_decode(response, response_size, &answered);
    if (asked.type != NB_OPEN || answered.type != NB_RESPONSE)
        return 0;
    nb_params_from_wire(&asked.open, &proposed);
    nb_params_from_wire(&answered.open, &limits);
    nb_params_restrict(&proposed, &limits, &agreed);
    nb_params_to_wire(&agreed, &fields);
    fields.unique_id = asked.open.unique_id;
    fields.write = asked.open.write;
    struct nb_emitter emitter = {answered.version, answered.local_port, answered.foreign_port};
    return nb_write_open(out, &emitter, NB_RESPONSE, &fields);
}
