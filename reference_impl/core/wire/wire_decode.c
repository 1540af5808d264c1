/* SPDX-License-Identifier: BSD-2-Clause */
/* Decodes packets (RFC 998 section 8). */
#include "base/bytes.h"
#include "wire/checksum.h"
#include "wire/wire.h"

#include <string.h>

/* Least Length of each type (WIRE-06..12). Text fields may be absent (AMB-03). */
static const uint8_t least_bytes[] = {
    [NB_OPEN] = NB_OPEN_BYTES,
    [NB_RESPONSE] = NB_OPEN_BYTES,
    [NB_KEEPALIVE] = NETBLT_HEADER_BYTES,
    [NB_QUIT] = NETBLT_HEADER_BYTES,
    [NB_QUITACK] = NETBLT_HEADER_BYTES,
    [NB_ABORT] = NETBLT_HEADER_BYTES,
    [NB_DATA] = NETBLT_DATA_HEADER_BYTES,
    [NB_LDATA] = NETBLT_DATA_HEADER_BYTES,
    [NB_NULL_ACK] = NB_NULL_ACK_BYTES,
    [NB_CONTROL] = NETBLT_HEADER_BYTES,
    [NB_REFUSED] = NETBLT_HEADER_BYTES,
    [NB_DONE] = NETBLT_HEADER_BYTES,
};

static struct nb_text read_text(const uint8_t *bytes, size_t room)
{
    const uint8_t *end = room == 0 ? NULL : memchr(bytes, 0, room);
    return (struct nb_text){.bytes = bytes, .length = end == NULL ? room : (size_t)(end - bytes)};
}

static void read_open(const uint8_t *bytes, size_t length, struct nb_open_fields *open)
{
    uint16_t flags = nb_get16(bytes + 32);
    *open = (struct nb_open_fields){
        .unique_id = nb_get32(bytes + 12),
        .buffer_size = nb_get32(bytes + 16),
        .transfer_size = nb_get32(bytes + 20),
        .packet_size = nb_get16(bytes + 24),
        .burst_size = nb_get16(bytes + 26),
        .burst_interval_ms = nb_get16(bytes + 28),
        .death_timer_s = nb_get16(bytes + 30),
        .write = (flags & NB_FLAG_WRITE) != 0,
        .data_checksum = (flags & NB_FLAG_DATA_CHECKSUM) != 0,
        .reserved_flags = flags & (uint16_t) ~(NB_FLAG_WRITE | NB_FLAG_DATA_CHECKSUM),
        .max_buffers = nb_get16(bytes + 34),
        .string = read_text(bytes + NB_OPEN_BYTES, length - NB_OPEN_BYTES),
    };
}

static void read_data(const uint8_t *bytes, size_t length, struct nb_data_fields *data)
{
    uint16_t flags = nb_get16(bytes + 22);
    *data = (struct nb_data_fields){
        .buffer = nb_get32(bytes + 12),
        .high_seq = nb_get16(bytes + 16),
        .packet = nb_get16(bytes + 18),
        .data_checksum = nb_get16(bytes + 20),
        .last_buffer = (flags & NB_FLAG_LAST_BUFFER) != 0,
        .reserved_flags = flags & (uint16_t)~NB_FLAG_LAST_BUFFER,
        .data = bytes + NETBLT_DATA_HEADER_BYTES,
        .length = length - NETBLT_DATA_HEADER_BYTES,
    };
}

static void read_body(const uint8_t *bytes, struct nb_packet *packet)
{
    size_t behind_header = packet->length - (size_t)NETBLT_HEADER_BYTES;
    switch ((enum nb_type)packet->type) {
    case NB_OPEN:
    case NB_RESPONSE:
        read_open(bytes, packet->length, &packet->open);
        break;
    case NB_QUIT:
    case NB_ABORT:
    case NB_REFUSED:
        packet->reason = read_text(bytes + NETBLT_HEADER_BYTES, behind_header);
        break;
    case NB_DATA:
    case NB_LDATA:
        read_data(bytes, packet->length, &packet->data);
        break;
    case NB_NULL_ACK:
        packet->null_ack.high_seq = nb_get16(bytes + 12);
        packet->null_ack.burst_size = nb_get16(bytes + 14);
        packet->null_ack.burst_interval_ms = nb_get16(bytes + 16);
        packet->null_ack.padding = nb_get16(bytes + 18);
        break;
    case NB_CONTROL:
        packet->control.bytes = bytes + NETBLT_HEADER_BYTES;
        packet->control.length = behind_header;
        break;
    case NB_KEEPALIVE:
    case NB_QUITACK:
    case NB_DONE:
        break;
    }
}

enum nb_fault nb_decode(const uint8_t *bytes, size_t size, struct nb_packet *packet)
{
    if (size < NETBLT_HEADER_BYTES)
        return NB_FAULT_SHORT;
    *packet = (struct nb_packet){
        .checksum = nb_get16(bytes),
        .version = bytes[2],
        .type = bytes[3],
        .length = nb_get16(bytes + 4),
        .local_port = nb_get16(bytes + 6),
        .foreign_port = nb_get16(bytes + 8),
        .padding = nb_get16(bytes + 10),
    };
    if (packet->length < NETBLT_HEADER_BYTES || packet->length > size)
        return NB_FAULT_LENGTH;
    if (packet->type > NB_DONE)
        return NB_FAULT_TYPE;
    if (packet->length < least_bytes[packet->type])
        return NB_FAULT_LENGTH;
    read_body(bytes, packet);
    /* CKSUM-03: the header checksum of DATA stops at the data. */
    bool header_only = packet->type == NB_DATA || packet->type == NB_LDATA;
    size_t covered = header_only ? NETBLT_DATA_HEADER_BYTES : packet->length;
    return nb_checksum_holds(bytes, covered) ? NB_FAULT_NONE : NB_FAULT_CHECKSUM;
}

size_t nb_resend_bytes(size_t count)
{
    return nb_align4(NB_RESEND_BYTES + 2 * count);
}

uint16_t nb_message_packet(const struct nb_message *message, uint16_t i)
{
    return nb_get16(message->packets + 2 * (size_t)i);
}

static size_t message_bytes(const uint8_t *at, size_t room)
{
    switch (at[0]) {
    case NB_GO:
        return NB_GO_BYTES;
    case NB_OK:
        return NB_OK_BYTES;
    case NB_RESEND:
        return room < NB_RESEND_BYTES ? NB_RESEND_BYTES : nb_resend_bytes(nb_get16(at + 8));
    default:
        return SIZE_MAX;
    }
}

bool nb_next_message(const uint8_t *body, size_t length, size_t *offset, struct nb_message *message,
                     enum nb_fault *fault)
{
    const uint8_t *at = body + *offset;
    size_t room = length - *offset;
    *fault = NB_FAULT_NONE;
    if (room == 0)
        return false;
    size_t bytes = message_bytes(at, room);
    if (bytes > room) {
        *fault = NB_FAULT_MESSAGE;
        return false;
    }
    *message = (struct nb_message){.type = at[0], .seq = nb_get16(at + 2), .buffer = nb_get32(at + 4)};
    if (message->type == NB_OK) {
        message->burst_size = nb_get16(at + 8);
        message->burst_interval_ms = nb_get16(at + 10);
        message->control_timer_ms = nb_get16(at + 12);
    } else if (message->type == NB_RESEND) {
        message->count = nb_get16(at + 8);
        message->packets = at + NB_RESEND_BYTES;
    }
    *offset += bytes;
    return true;
}
