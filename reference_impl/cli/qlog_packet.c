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

static void write_text(const char *key, struct nb_text text, json_writer *json)
{
    char copy[NETBLT_STRING_MAX_BYTES + 1];
    size_t length = text.length < sizeof copy ? text.length : sizeof copy - 1;

    for (size_t i = 0; i < length; i++)
        copy[i] = (char)text.bytes[i];
    copy[length] = '\0';
    json_string(json, key, copy);
}

static void write_open(const struct nb_open_fields *open, json_writer *json)
{
    json_number(json, "unique_id", open->unique_id);
    json_number(json, "buffer_size", open->buffer_size);
    json_number(json, "transfer_size", open->transfer_size);
    json_number(json, "packet_size", open->packet_size);
    json_number(json, "burst_size", open->burst_size);
    json_number(json, "burst_interval_ms", open->burst_interval_ms);
    json_number(json, "death_timer_s", open->death_timer_s);
    json_bool(json, "write", open->write);
    json_bool(json, "data_checksum", open->data_checksum);
    json_number(json, "max_buffers", open->max_buffers);
    write_text("string", open->string, json);
}

static void write_data(const struct nb_data_fields *data, json_writer *json)
{
    json_number(json, "buffer", data->buffer);
    json_number(json, "packet", data->packet);
    json_number(json, "high_seq", data->high_seq);
    json_number(json, "data_length", data->length);
    json_bool(json, "last_buffer", data->last_buffer);
}

static void write_message(const struct nb_message *message, json_writer *json)
{
    static const char *const names[] = {[NB_GO] = "GO", [NB_OK] = "OK", [NB_RESEND] = "RESEND"};

    json_begin(json, NULL);
    json_string(json, "type", names[message->type]);
    json_number(json, "seq", message->seq);
    json_number(json, "buffer", message->buffer);
    if (message->type == NB_OK) {
        json_number(json, "burst_size", message->burst_size);
        json_number(json, "burst_interval_ms", message->burst_interval_ms);
        json_number(json, "control_timer_ms", message->control_timer_ms);
    } else if (message->type == NB_RESEND) {
        json_number(json, "count", message->count);
        json_begin_list(json, "packets");
        for (uint16_t i = 0; i < message->count && i < PACKETS_LISTED_MAX; i++)
            json_number(json, NULL, nb_message_packet(message, i));
        json_end_list(json);
    }
    json_end(json);
}

static void write_control(const struct nb_packet *packet, json_writer *json)
{
    struct nb_message message;
    enum nb_fault fault = NB_FAULT_NONE;
    size_t offset = 0;

    json_begin_list(json, "messages");
    while (nb_next_message(packet->control.bytes, packet->control.length, &offset, &message, &fault))
        write_message(&message, json);
    json_end_list(json);
}

static void write_body(const struct nb_packet *packet, json_writer *json)
{
    switch (packet->type) {
    case NB_OPEN:
    case NB_RESPONSE:
        write_open(&packet->open, json);
        break;
    case NB_QUIT:
    case NB_ABORT:
    case NB_REFUSED:
        write_text("reason", packet->reason, json);
        break;
    case NB_DATA:
    case NB_LDATA:
        write_data(&packet->data, json);
        break;
    case NB_NULL_ACK:
        json_number(json, "high_seq", packet->null_ack.high_seq);
        json_number(json, "burst_size", packet->null_ack.burst_size);
        json_number(json, "burst_interval_ms", packet->null_ack.burst_interval_ms);
        break;
    case NB_CONTROL:
        write_control(packet, json);
        break;
    default:
        break;
    }
}

void qlog_write_packet(const uint8_t *bytes, size_t length, json_writer *json)
{
    struct nb_packet packet;
    enum nb_fault fault = nb_decode(bytes, length, &packet);

    if (fault != NB_FAULT_NONE)
        json_string(json, "fault", fault_names[fault]);
    if (fault != NB_FAULT_NONE && fault != NB_FAULT_CHECKSUM) {
        json_number(json, "length", length);
        return;
    }
    json_begin(json, "header");
    json_string(json, "packet_type", type_names[packet.type]);
    json_number(json, "version", packet.version);
    json_number(json, "length", packet.length);
    json_number(json, "local_port", packet.local_port);
    json_number(json, "foreign_port", packet.foreign_port);
    json_end(json);
    write_body(&packet, json);
}
