/* SPDX-License-Identifier: BSD-2-Clause */
/* The scripted peer's packets: an encoder and a checksum of its own. */
#include "check.h"
#include "peer.h"

#include <string.h>

unsigned peer_get16(const uint8_t *at)
{
    return (unsigned)at[0] * 256 + at[1];
}

uint32_t peer_get32(const uint8_t *at)
{
    return (uint32_t)peer_get16(at) * 65536 + peer_get16(at + 2);
}

uint16_t peer_sum(const uint8_t *bytes, size_t length)
{
    uint32_t sum = 0;
    for (size_t i = 0; i < length; i++)
        sum += i % 2 == 0 ? bytes[i] * 256u : bytes[i];
    while (sum > 0xFFFF)
        sum = sum % 0x10000 + sum / 0x10000;
    return (uint16_t)(0xFFFF - sum);
}

void forged_put16(struct forged *packet, size_t at, unsigned value)
{
    packet->bytes[at] = (uint8_t)(value / 256);
    packet->bytes[at + 1] = (uint8_t)value;
}

static void put32(struct forged *packet, size_t at, uint32_t value)
{
    forged_put16(packet, at, value / 65536);
    forged_put16(packet, at + 2, value % 65536);
}

void forge(struct peer *peer, struct forged *packet, int type)
{
    memset(packet->bytes, 0, 64);
    packet->bytes[2] = peer->version;
    packet->bytes[3] = (uint8_t)type;
    forged_put16(packet, 6, peer->peer_port);
    forged_put16(packet, 8, peer->our_port);
    packet->length = 12;
    packet->size = 0;
    packet->covered = 0;
}

static void add_text(struct forged *packet, const char *text)
{
    size_t length = strlen(text);
    memset(packet->bytes + packet->length, 0, length + 4);
    memcpy(packet->bytes + packet->length, text, length);
    packet->length += (length / 4 + 1) * 4;
}

void forge_open(struct peer *peer, struct forged *packet, int type, const netblt_params *params, bool write)
{
    forge(peer, packet, type);
    put32(packet, 12, peer->unique_id);
    put32(packet, 16, params->buffer_size);
    put32(packet, 20, (uint32_t)params->transfer_size);
    forged_put16(packet, 24, params->packet_size);
    forged_put16(packet, 26, params->burst_size);
    forged_put16(packet, 28, params->burst_interval_ms);
    forged_put16(packet, 30, params->death_timer_s);
    forged_put16(packet, 32, (write ? 1u : 0u) + (params->data_checksum ? 2u : 0u));
    forged_put16(packet, 34, params->max_buffers);
    packet->length = 36;
    add_text(packet, params->client_string);
}

void forge_reason(struct peer *peer, struct forged *packet, int type, const char *reason)
{
    forge(peer, packet, type);
    add_text(packet, reason);
}

void forge_data(struct peer *peer, struct forged *packet, int type, uint32_t buffer, unsigned number, unsigned high_seq,
                bool last_buffer, const uint8_t *data, size_t length, bool data_checksum)
{
    forge(peer, packet, type);
    put32(packet, 12, buffer);
    forged_put16(packet, 16, high_seq);
    forged_put16(packet, 18, number);
    forged_put16(packet, 20, data_checksum ? peer_sum(data, length) : 0);
    forged_put16(packet, 22, last_buffer ? 1 : 0);
    if (length > 0)
        memcpy(packet->bytes + 24, data, length);
    packet->length = 24 + length;
    packet->covered = 24;
}

void forge_null_ack(struct peer *peer, struct forged *packet, unsigned high_seq, unsigned burst_size,
                    unsigned burst_interval_ms)
{
    forge(peer, packet, NULL_ACK);
    forged_put16(packet, 12, high_seq);
    forged_put16(packet, 14, burst_size);
    forged_put16(packet, 16, burst_interval_ms);
    packet->length = 20;
}

static void add_message(struct forged *control, int type, unsigned seq, uint32_t buffer, size_t bytes)
{
    size_t at = control->length;
    memset(control->bytes + at, 0, bytes);
    control->bytes[at] = (uint8_t)type;
    forged_put16(control, at + 2, seq);
    put32(control, at + 4, buffer);
    control->length += bytes;
}

void forge_go(struct forged *control, unsigned seq, uint32_t buffer)
{
    add_message(control, GO, seq, buffer, 8);
}

void forge_ok(struct forged *control, unsigned seq, uint32_t buffer, unsigned burst_size, unsigned burst_interval_ms,
              unsigned control_timer_ms)
{
    size_t at = control->length;
    add_message(control, OK, seq, buffer, 16);
    forged_put16(control, at + 8, burst_size);
    forged_put16(control, at + 10, burst_interval_ms);
    forged_put16(control, at + 12, control_timer_ms);
}

void forge_resend(struct forged *control, unsigned seq, uint32_t buffer, const uint16_t *packets, unsigned count)
{
    size_t at = control->length;
    add_message(control, RESEND, seq, buffer, 12 + (count + 1) / 2 * 4);
    forged_put16(control, at + 8, count);
    for (unsigned i = 0; i < count; i++)
        forged_put16(control, at + 12 + 2 * i, packets[i]);
}
