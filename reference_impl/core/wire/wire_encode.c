/* SPDX-License-Identifier: BSD-2-Clause */
/* Encodes packets (RFC 998 section 8). */
#include "base/bytes.h"
#include "wire/checksum.h"
#include "wire/wire.h"

#include <assert.h>
#include <string.h>

static void write_header(uint8_t *out, const struct nb_emitter *emitter, enum nb_type type, size_t length)
{
    assert(length <= NETBLT_PACKET_MAX_BYTES);
    nb_put16(out, 0);
    out[2] = emitter->version;
    out[3] = (uint8_t)type;
    nb_put16(out + 4, (uint16_t)length);
    nb_put16(out + 6, emitter->local_port);
    nb_put16(out + 8, emitter->foreign_port);
    nb_put16(out + 10, 0);
}

/* Fills the checksum field over `covered` bytes, all of which are written (CKSUM-01, CKSUM-03). */
static void seal(uint8_t *out, size_t covered)
{
    nb_put16(out, nb_checksum(out, covered));
}

/* A text field with at least one NUL, NUL-filled to a multiple of 4 (WIRE-07); the empty text is four NULs (AMB-03). */
static size_t write_text(uint8_t *out, const void *text, size_t length)
{
    assert(length <= NETBLT_STRING_MAX_BYTES);
    size_t field = nb_align4(length + 1);
    memset(out, 0, field);
    if (length > 0)
        memcpy(out, text, length);
    return field;
}

size_t nb_write_bare(uint8_t *out, const struct nb_emitter *emitter, enum nb_type type)
{
    write_header(out, emitter, type, NETBLT_HEADER_BYTES);
    seal(out, NETBLT_HEADER_BYTES);
    return NETBLT_HEADER_BYTES;
}

size_t nb_write_reason(uint8_t *out, const struct nb_emitter *emitter, enum nb_type type, const char *reason)
{
    size_t length = NETBLT_HEADER_BYTES + write_text(out + NETBLT_HEADER_BYTES, reason, strlen(reason));
    write_header(out, emitter, type, length);
    seal(out, length);
    return length;
}

size_t nb_write_open(uint8_t *out, const struct nb_emitter *emitter, enum nb_type type,
                     const struct nb_open_fields *fields)
{
    size_t length = NB_OPEN_BYTES;
    if (fields->string.bytes != NULL)
        length += write_text(out + NB_OPEN_BYTES, fields->string.bytes, fields->string.length);
    write_header(out, emitter, type, length);
    nb_put32(out + 12, fields->unique_id);
    nb_put32(out + 16, fields->buffer_size);
    nb_put32(out + 20, fields->transfer_size);
    nb_put16(out + 24, fields->packet_size);
    nb_put16(out + 26, fields->burst_size);
    nb_put16(out + 28, fields->burst_interval_ms);
    nb_put16(out + 30, fields->death_timer_s);
    nb_put16(out + 32,
             (uint16_t)((fields->write ? NB_FLAG_WRITE : 0) | (fields->data_checksum ? NB_FLAG_DATA_CHECKSUM : 0)));
    nb_put16(out + 34, fields->max_buffers);
    seal(out, length);
    return length;
}

size_t nb_write_null_ack(uint8_t *out, const struct nb_emitter *emitter, const struct nb_null_ack_fields *fields)
{
    write_header(out, emitter, NB_NULL_ACK, NB_NULL_ACK_BYTES);
    nb_put16(out + 12, fields->high_seq);
    nb_put16(out + 14, fields->burst_size);
    nb_put16(out + 16, fields->burst_interval_ms);
    nb_put16(out + 18, fields->padding);
    seal(out, NB_NULL_ACK_BYTES);
    return NB_NULL_ACK_BYTES;
}

size_t nb_write_data(uint8_t *out, const struct nb_emitter *emitter, enum nb_type type,
                     const struct nb_data_fields *fields, bool data_checksum)
{
    size_t length = NETBLT_DATA_HEADER_BYTES + fields->length;
    uint8_t *data = out + NETBLT_DATA_HEADER_BYTES;
    uint16_t data_sum = 0; /* AMB-07: zero when C=0 */
    if (data_checksum)
        data_sum = nb_checksum_copy(data, fields->data, fields->length);
    else if (fields->length > 0)
        memcpy(data, fields->data, fields->length);
    size_t padded = nb_align4(length);
    memset(out + length, 0, padded - length);
    write_header(out, emitter, type, length);
    nb_put32(out + 12, fields->buffer);
    nb_put16(out + 16, fields->high_seq);
    nb_put16(out + 18, fields->packet);
    nb_put16(out + 20, data_sum);
    nb_put16(out + 22, fields->last_buffer ? NB_FLAG_LAST_BUFFER : 0);
    seal(out, NETBLT_DATA_HEADER_BYTES);
    return padded;
}

size_t nb_write_control(uint8_t *out, const struct nb_emitter *emitter, size_t messages_bytes)
{
    size_t length = NETBLT_HEADER_BYTES + messages_bytes;
    write_header(out, emitter, NB_CONTROL, length);
    seal(out, length);
    return length;
}

static void write_message_header(uint8_t *out, enum nb_message_type type, uint16_t seq, uint32_t buffer)
{
    out[0] = (uint8_t)type;
    out[1] = 0;
    nb_put16(out + 2, seq);
    nb_put32(out + 4, buffer);
}

size_t nb_write_go(uint8_t *out, uint16_t seq, uint32_t buffer)
{
    write_message_header(out, NB_GO, seq, buffer);
    return NB_GO_BYTES;
}

size_t nb_write_ok(uint8_t *out, uint16_t seq, uint32_t buffer, uint16_t burst_size, uint16_t burst_interval_ms,
                   uint16_t control_timer_ms)
{
    write_message_header(out, NB_OK, seq, buffer);
    nb_put16(out + 8, burst_size);
    nb_put16(out + 10, burst_interval_ms);
    nb_put16(out + 12, control_timer_ms);
    nb_put16(out + 14, 0);
    return NB_OK_BYTES;
}

size_t nb_write_resend(uint8_t *out, uint16_t seq, uint32_t buffer, const uint16_t *packets, uint16_t count)
{
    size_t bytes = nb_resend_bytes(count);
    write_message_header(out, NB_RESEND, seq, buffer);
    nb_put16(out + 8, count);
    nb_put16(out + 10, 0);
    for (size_t i = 0; i < count; i++)
        nb_put16(out + NB_RESEND_BYTES + 2 * i, packets[i]);
    if (count % 2 != 0)
        nb_put16(out + bytes - 2, 0);
    return bytes;
}
