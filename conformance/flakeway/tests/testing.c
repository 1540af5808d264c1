/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the tests of the flakeway share. */
#include "testing.h"

#include <inttypes.h>

const char *current_test = "";
int failures;

void check_text(const char *actual, const char *expected, const char *file, int line)
{
    if (strcmp(actual, expected) != 0) {
        fprintf(stderr, "%s:%d: %s:\n  is      %s\n  must be %s\n", file, line, current_test, actual, expected);
        failures++;
    }
}

static void put16(uint8_t *at, unsigned value)
{
    at[0] = (uint8_t)(value >> 8);
    at[1] = (uint8_t)value;
}

static void put32(uint8_t *at, uint32_t value)
{
    put16(at, value >> 16);
    put16(at + 2, value & 0xffff);
}

test_packet simple_packet(uint8_t type, size_t length)
{
    test_packet packet = {.length = length};
    packet.bytes[2] = 2;
    packet.bytes[3] = type;
    put16(packet.bytes + 4, (unsigned)length);
    return packet;
}

test_packet data_packet(uint8_t type, uint32_t buffer, uint16_t number, size_t payload)
{
    test_packet packet = simple_packet(type, 24 + payload);
    put32(packet.bytes + 12, buffer);
    put16(packet.bytes + 18, number);
    return packet;
}

test_packet control_packet(void)
{
    return simple_packet(9, 12);
}

static uint8_t *add_message(test_packet *packet, uint8_t type, uint16_t sequence, uint32_t buffer, size_t length)
{
    uint8_t *message = packet->bytes + packet->length;
    message[0] = type;
    put16(message + 2, sequence);
    put32(message + 4, buffer);
    packet->length += length;
    put16(packet->bytes + 4, (unsigned)packet->length);
    return message;
}

void add_go(test_packet *packet, uint16_t sequence, uint32_t buffer)
{
    add_message(packet, 0, sequence, buffer, 8);
}

void add_ok(test_packet *packet, uint16_t sequence, uint32_t buffer)
{
    add_message(packet, 1, sequence, buffer, 16);
}

void add_resend(test_packet *packet, uint16_t sequence, uint32_t buffer, unsigned count, const uint16_t *numbers)
{
    uint8_t *message = add_message(packet, 2, sequence, buffer, (12 + 2 * count + 3) / 4 * 4);
    put16(message + 8, count);
    for (unsigned i = 0; i < count; i++)
        put16(message + 12 + 2 * i, numbers[i]);
}

flakeway *engine_with(uint64_t seed, const char *first, const char *second)
{
    const char *const texts[] = {first, second};
    flakeway *engine = flakeway_new(seed);
    if (!engine)
        abort();
    for (unsigned i = 0; i < 2; i++) {
        flakeway_error error;
        if (texts[i] && flakeway_add(engine, texts[i], &error) < 0) {
            fprintf(stderr, "%s: \"%s\": %s\n", current_test, texts[i], error.message);
            abort();
        }
    }
    return engine;
}

uint64_t offer(flakeway *engine, enum flakeway_direction direction, const test_packet *packet, uint64_t now_us)
{
    const flakeway_packet whole = {.bytes = packet->bytes, .length = packet->length, .netblt_length = packet->length};
    return flakeway_offer(engine, direction, &whole, now_us);
}

void offer_all(flakeway *engine, const char *packets)
{
    while (*packets != '\0') {
        char *end;
        test_packet packet = simple_packet(6, strtoul(packets, &end, 10));
        if (*end != '@' || packet.length < 12 || packet.length > sizeof packet.bytes)
            abort();
        offer(engine, A_TO_B, &packet, strtoull(end + 1, &end, 10));
        packets = *end == ' ' ? end + 1 : end;
    }
}

const char *released_text(flakeway *engine)
{
    static char text[4096];
    size_t used = 0;
    uint64_t deadline;
    text[0] = '\0';
    while ((deadline = flakeway_deadline(engine)) != FLAKEWAY_NEVER && used < sizeof text - 64) {
        flakeway_released released;
        if (deadline > 0)
            CHECK(!flakeway_release(engine, deadline - 1, &released)); /* never early */
        CHECK(flakeway_release(engine, deadline, &released));
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%" PRIu64, used ? " " : "", released.id);
        if (released.copy)
            used += (size_t)snprintf(text + used, sizeof text - used, "+%" PRIu32, released.copy);
        used += (size_t)snprintf(text + used, sizeof text - used, "@%" PRIu64, released.release_us);
    }
    return text;
}
