/* SPDX-License-Identifier: BSD-2-Clause */
/* A scripted hostile peer: see hostile.h. */
#include "hostile.h"

#include "guarded.h"
#include "security/guard.h"

#include <string.h>

#define FAR_AHEAD 4088

static void put16(uint8_t *at, unsigned value)
{
    at[0] = (uint8_t)(value >> 8);
    at[1] = (uint8_t)value;
}

static void put32(uint8_t *at, uint32_t value)
{
    put16(at, value >> 16);
    put16(at + 2, value & 0xFFFF);
}

void hostile_begin(struct hostile *hostile)
{
    hostile->seq = 1;
    hostile->seen_seq = 0;
    hostile->any_go_seen = false;
    hostile->seen_go = 0;
    hostile->first_buffer = 0;
}

static void arrive(struct hostile *hostile, const uint8_t *packet, size_t size)
{
    const netblt_connection *before = hostile->model->connection;
    station_input(hostile->station, hostile->model, packet, size);
    if (hostile->model->connection != NULL && hostile->model->connection != before)
        hostile_begin(hostile);
}

static void seal(struct hostile *hostile, uint8_t *packet, unsigned type, size_t length)
{
    packet[2] = 2;
    packet[3] = (uint8_t)type;
    put16(packet + 4, (unsigned)length);
    put16(packet + 6, hostile->port);
    put16(packet + 8, STATION_PORT);
    put16(packet + 10, 0);
    fuzz_repair(packet, length);
    if (hostile->damage != 0)
        packet[hostile->damage % length] ^= hostile->damage;
    hostile->damage = 0;
    arrive(hostile, packet, length);
}

void hostile_open(struct hostile *hostile, struct bytes *in, unsigned type)
{
    const netblt_params *limits = &hostile->station->limits;
    uint8_t packet[64] = {0};
    uint8_t odd = take(in);
    put32(packet + 12, hostile->unique_id + (odd % 16 == 15));
    put32(packet + 16, odd & 16 ? take16(in) : limits->buffer_size);
    put16(packet + 24, odd & 32 ? take16(in) : limits->packet_size);
    put16(packet + 26, odd & 64 ? take(in) : limits->burst_size);
    put16(packet + 28, limits->burst_interval_ms);
    put16(packet + 30, take(in) % 64);
    put16(packet + 32, odd & 3);
    put16(packet + 34, odd & 128 ? take(in) : limits->max_buffers);
    size_t length = 36 + odd % 5 * 4;
    memset(packet + 36, 'n', length - 36);
    if (type == RESPONSE && hostile->gives_token) {
        char text[64] = "";
        nb_guard_append_token(text, hostile->unique_id, odd % 2);
        memcpy(packet + 36, text, NB_GUARD_TOKEN_CHARS + 1);
        length = 36 + NB_GUARD_TOKEN_CHARS + 1;
    }
    seal(hostile, packet, type, length);
}

/* One message at `at`; returns its bytes. */
static size_t put_message(struct hostile *hostile, uint8_t *at, struct bytes *in)
{
    uint8_t shape = take(in);
    uint8_t buffer = take(in);
    bool fresh = (shape & 0x40) == 0;
    at[0] = shape % 4 == 3 ? GO : shape % 4;
    if ((shape & 0x20) != 0) /* about as far ahead as an endpoint remembers */
        put16(at + 2, hostile->seq + FAR_AHEAD + take(in) % 16u);
    else
        put16(at + 2, fresh ? hostile->seq++ : (unsigned)(hostile->seq - shape % 8));
    put32(at + 4, hostile->first_buffer + (uint32_t)(int32_t)(int8_t)buffer);
    if (at[0] == GO)
        return 8;
    if (at[0] == OK) {
        put16(at + 8, take(in));
        put16(at + 10, take(in));
        put16(at + 12, take16(in));
        return 16;
    }
    unsigned count = take(in) % 24;
    put16(at + 8, (shape & 0x80) != 0 ? count + 40 : count);
    for (unsigned i = 0; i < count; i++)
        put16(at + 12 + 2 * (size_t)i, take(in));
    return (12 + 2 * (size_t)count + 3) / 4 * 4;
}

void hostile_control(struct hostile *hostile, struct bytes *in)
{
    uint8_t packet[600] = {0};
    size_t at = 12;
    for (unsigned n = 1 + take(in) % 5; n > 0 && at + 80 < sizeof packet; n--)
        at += put_message(hostile, packet + at, in);
    seal(hostile, packet, CONTROL, at);
}

static unsigned acknowledge(const struct hostile *hostile, uint8_t how)
{
    return how % 4 == 3 ? (unsigned)(hostile->seen_seq + how) : (unsigned)(hostile->seen_seq - how % 4);
}

/* Bytes that differ between buffers and packets, and with bit 7 of `number` between copies of one packet. */
void hostile_data(struct hostile *hostile, struct bytes *in)
{
    const netblt_params *limits = &hostile->station->limits;
    uint8_t packet[24 + 700] = {0};
    uint8_t shape = take(in);
    uint8_t number = take(in);
    unsigned size = limits->packet_size;
    unsigned packets = (limits->buffer_size + size - 1) / size;
    unsigned place = shape & 8 ? number : number % 32;
    bool last = place + 1 == packets;
    unsigned length = last ? limits->buffer_size - (packets - 1) * size : size;
    uint32_t buffer = hostile->seen_go - (shape >> 5);
    if (shape & 0x10)
        length = take16(in) % 700;
    put32(packet + 12, buffer);
    put16(packet + 16, acknowledge(hostile, shape));
    put16(packet + 18, place);
    put16(packet + 22, (shape & 4) != 0);
    for (unsigned i = 0; i < length; i++)
        packet[24 + i] = model_byte(number >> 5, buffer, place * size + i);
    put16(packet + 20, ~view_sum(packet + 24, length) & 0xFFFF);
    seal(hostile, packet, last || (shape & 4) != 0 ? LDATA : DATA, 24 + length);
}

void hostile_null_ack(struct hostile *hostile, struct bytes *in)
{
    enum { FORGED = 0xF8 }; /* a burst size from here on comes without the padding of a guarded connection */
    uint8_t packet[20] = {0};
    struct nb_null_ack_fields fields = {.high_seq = (uint16_t)acknowledge(hostile, take(in))};
    fields.burst_size = take(in);
    fields.burst_interval_ms = take(in);
    put16(packet + 12, fields.high_seq);
    put16(packet + 14, fields.burst_size);
    put16(packet + 16, fields.burst_interval_ms);
    put16(packet + 18, fields.burst_size < FORGED ? nb_guard_null_ack(hostile->token, &fields) : 0);
    seal(hostile, packet, NULL_ACK, 20);
}

void hostile_reason(struct hostile *hostile, unsigned type, uint8_t how)
{
    uint8_t packet[12 + 24];
    memset(packet, 'r', sizeof packet); /* unterminated */
    size_t length = 12 + how % 3 * 4;
    if ((how & 64) != 0) {
        char text[64] = "reason  ";
        nb_guard_append_proof(text, hostile->unique_id + ((how & 128) != 0), (enum nb_type)type);
        memcpy(packet + 12, text, 24);
        length = sizeof packet;
    }
    seal(hostile, packet, type, length);
}

void hostile_bare(struct hostile *hostile, uint8_t how)
{
    unsigned type = (const uint8_t[]){KEEPALIVE, QUITACK, REFUSED, DONE}[how % 4];
    hostile_reason(hostile, type, type == REFUSED ? how & 0xF0 : 0);
}

void hostile_becomes_another(struct hostile *hostile, uint8_t how)
{
    if (how % 4 == 1)
        hostile->unique_id = nb_guard_mark(hostile->unique_id + 0x10000, hostile->port, STATION_PORT, how / 4 % 2);
    else if (how % 4 == 2)
        hostile->gives_token = !hostile->gives_token;
    else
        hostile->unique_id ^= 0x100;
}

void hostile_raw(struct hostile *hostile, struct bytes *in)
{
    uint8_t packet[256] = {0};
    uint8_t how = take(in);
    size_t size = take(in);
    for (size_t i = 0; i < size; i++)
        packet[i] = take(in);
    if (size >= 12 && (how & 1) != 0) {
        put16(packet + 6, hostile->port);
        put16(packet + 8, STATION_PORT);
        packet[2] = 2;
    }
    if ((how & 2) != 0)
        fuzz_repair(packet, size);
    arrive(hostile, packet, size);
}

void hostile_learn(struct hostile *hostile, const uint8_t *packet, size_t size)
{
    struct view view;
    struct view_message message;
    view_read(&view, packet, size);
    if (view.type == OPEN) {
        hostile->unique_id = view.unique_id;
        hostile->token = view.unique_id;
        hostile->first_buffer = nb_guard_first_buffer_of_token(view.unique_id);
        if (!hostile->gives_token)
            hostile->first_buffer = 0;
    } else if (view.type == RESPONSE) {
        struct guarded_token token = guarded_read_token(&view);
        hostile->token = token.token;
        hostile->first_buffer = token.known ? token.first_buffer : 0;
    }
    if (view.type != CONTROL)
        return;
    for (size_t at = 0; view_next_message(&view, &at, &message);) {
        hostile->seen_seq = (uint16_t)message.seq;
        if (message.type != GO || (hostile->any_go_seen && (int32_t)(message.buffer - hostile->seen_go) <= 0))
            continue;
        hostile->seen_go = message.buffer;
        hostile->any_go_seen = true;
    }
}
