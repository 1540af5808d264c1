/* SPDX-License-Identifier: BSD-2-Clause */
/* Encoded lists: see octets.h. */
#include "cli/tree/octets.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_CAPACITY 4096

static bool has_room(octets *to, size_t length)
{
    size_t capacity = to->capacity == 0 ? FIRST_CAPACITY : to->capacity;
    uint8_t *bytes;
    if (to->failed)
        return false;
    while (capacity - to->length < length)
        capacity *= 2;
    if (capacity == to->capacity)
        return true;
    bytes = realloc(to->bytes, capacity);
    if (bytes == NULL) {
        to->failed = true;
        return false;
    }
    to->bytes = bytes;
    to->capacity = capacity;
    return true;
}

void octets_add(octets *to, const void *bytes, size_t length)
{
    if (length == 0 || !has_room(to, length))
        return;
    memcpy(to->bytes + to->length, bytes, length);
    to->length += length;
}

void octets_add_number(octets *to, uint64_t value, unsigned width)
{
    uint8_t bytes[sizeof value];
    for (unsigned i = 0; i < width; i++)
        bytes[i] = (uint8_t)(value >> 8 * (width - 1 - i));
    octets_add(to, bytes, width);
}

const uint8_t *octets_take(octets_left *from, size_t length)
{
    const uint8_t *taken = from->at;
    if (from->failed || length > from->length) {
        from->failed = true;
        return NULL;
    }
    from->at += length;
    from->length -= length;
    return taken;
}

uint64_t octets_take_number(octets_left *from, unsigned width)
{
    const uint8_t *bytes = octets_take(from, width);
    uint64_t value = 0;
    for (unsigned i = 0; bytes != NULL && i < width; i++)
        value = value << 8 | bytes[i];
    return value;
}
