/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/qlog_packet.h"

#include <stdio.h>

#include "core/wire/wire.h"

#define PACKETS_LISTED_MAX 64 /* of a RESEND: its whole list may have 65535 */

static const char *const type_names[] = {
    [NB_OPEN] = "OPEN",         [NB_RESPONSE] = "RESPONSE", [NB_KEEPALIVE] = "KEEPALIVE", [NB_QUIT] = "QUIT",
    [NB_QUITACK] = "QUITACK",   [NB_ABORT] = "ABORT",       [NB_DATA] = "DATA",           [NB_LDATA] = "LDATA",
    [NB_NULL_ACK] = "NULL-ACK", [NB_CONTROL] = "CONTROL",   [NB_REFUSED] = "REFUSED",     [NB_DONE] = "DONE",
};

static const char *const fault_names[] = {
    [NB_FAULT_NONE] = NULL,   [NB_FAULT_SHORT] = "short",       [NB_FAULT_LENGTH] = "length",
    [NB_FAULT_TYPE] = "type", [NB_FAULT_CHECKSUM] = "checksum", [NB_FAULT_MESSAGE] = "message",
};

static json_t *text_of(struct nb_text text)
{
    char copy[NETBLT_STRING_MAX_BYTES + 1];
    size_t length = text.length < sizeof copy ? text.length : sizeof copy - 1;

    for (size_t i = 0; i < length; i++)
        copy[i] = (char)text.bytes[i];
    copy[length] = '\0';
    return json_text(copy);
}

static json_t *open_fields(const struct nb_open_fields *open)
{
    return json_pack("{s:I, s:I, s:I, s:i, s:i, s:i, s:i, s:b, s:b, s:i, s:o}", "unique_id",
                     JSON_WHOLE(open->unique_id), "buffer_size", JSON_WHOLE(open->buffer_size), "transfer_size",
                     JSON_WHOLE(open->transfer_size), "packet_size", (int)open->packet_size, "burst_size",
                     (int)open->burst_size, "burst_interval_ms", (int)open->burst_interval_ms, "death_timer_s",
                     (int)open->death_timer_s, "write", (int)open->write, "data_checksum", (int)open->data_checksum,
                     "max_buffers", (int)open->max_buffers, "string", text_of(open->string));
}

static json_t *message_object(const struct nb_message *message)
{
    static const char *const names[] = {[NB_GO] = "GO", [NB_OK] = "OK", [NB_RESEND] = "RESEND"};
    json_t *object = json_pack("{s:s, s:i, s:I}", "type", names[message->type], "seq", (int)message->seq, "buffer",
                               JSON_WHOLE(message->buffer));
    json_t *packets;

    if (message->type == NB_OK) {
        json_object_set_new(object, "burst_size", json_integer(message->burst_size));
        json_object_set_new(object, "burst_interval_ms", json_integer(message->burst_interval_ms));
        json_object_set_new(object, "control_timer_ms", json_integer(message->control_timer_ms));
    } else if (message->type == NB_RESEND) {
        packets = json_array();
        for (uint16_t i = 0; i < message->count && i < PACKETS_LISTED_MAX; i++)
            json_array_append_new(packets, json_integer(nb_message_packet(message, i)));
        json_object_set_new(object, "count", json_integer(message->count));
        json_object_set_new(object, "packets", packets);
    }
    return object;
}

static json_t *control_fields(const struct nb_packet *packet)
{
    struct nb_message message;
    enum nb_fault fault = NB_FAULT_NONE;
    size_t offset = 0;
    json_t *messages = json_array();

    while (nb_next_message(packet->control.bytes, packet->control.length, &offset, &message, &fault))
        json_array_append_new(messages, message_object(&message));
    return json_pack("{s:o}", "messages", messages);
}

/* NULL for a type that has none. */
static json_t *body_of(const struct nb_packet *packet)
{
    const struct nb_data_fields *data = &packet->data;

    switch (packet->type) {
    case NB_OPEN:
    case NB_RESPONSE:
        return open_fields(&packet->open);
    case NB_QUIT:
    case NB_ABORT:
    case NB_REFUSED:
        return json_pack("{s:o}", "reason", text_of(packet->reason));
    case NB_DATA:
    case NB_LDATA:
        return json_pack("{s:I, s:i, s:i, s:i, s:b}", "buffer", JSON_WHOLE(data->buffer), "packet", (int)data->packet,
                         "high_seq", (int)data->high_seq, "data_length", (int)data->length, "last_buffer",
                         (int)data->last_buffer);
    case NB_NULL_ACK:
        return json_pack("{s:i, s:i, s:i}", "high_seq", (int)packet->null_ack.high_seq, "burst_size",
                         (int)packet->null_ack.burst_size, "burst_interval_ms",
                         (int)packet->null_ack.burst_interval_ms);
    case NB_CONTROL:
        return control_fields(packet);
    default:
        return NULL;
    }
}

json_t *qlog_packet(const uint8_t *bytes, size_t length)
{
    struct nb_packet packet;
    enum nb_fault fault = nb_decode(bytes, length, &packet);
    json_t *object = json_object();
    json_t *body;

    if (fault != NB_FAULT_NONE)
        json_object_set_new(object, "fault", json_string(fault_names[fault]));
    if (fault != NB_FAULT_NONE && fault != NB_FAULT_CHECKSUM) {
        json_object_set_new(object, "length", json_integer(JSON_WHOLE(length)));
        return object;
    }
    json_object_set_new(object, "header",
                        json_pack("{s:s, s:i, s:i, s:i, s:i}", "packet_type", type_names[packet.type], "version",
                                  (int)packet.version, "length", (int)packet.length, "local_port",
                                  (int)packet.local_port, "foreign_port", (int)packet.foreign_port));
    body = body_of(&packet);
    json_object_update(object, body);
    json_decref(body);
    return object;
}
