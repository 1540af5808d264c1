/* SPDX-License-Identifier: BSD-2-Clause */
/* Fuzz target: decodes packets and control messages from raw bytes. */
#include "fuzz.h"
#include "wire/wire.h"

#include <stdlib.h>
#include <string.h>

/* The packet decoder: whatever the bytes, it reads none beyond them, and what it answers lies within them. What it can
 * read it can write again with the same meaning. */

static bool within(const uint8_t *bytes, size_t size, const uint8_t *at, size_t length)
{
    return length == 0 || (at >= bytes && at + length <= bytes + size);
}

static void walk_control(const struct nb_packet *packet)
{
    struct nb_message message;
    enum nb_fault fault;
    size_t offset = 0, before = 0;
    while (nb_next_message(packet->control.bytes, packet->control.length, &offset, &message, &fault)) {
        FUZZ_CHECK(offset > before && offset <= packet->control.length);
        before = offset;
        if (message.type != NB_RESEND)
            continue;
        unsigned sum = 0;
        for (unsigned i = 0; i < message.count; i++)
            sum += nb_message_packet(&message, (uint16_t)i);
        FUZZ_CHECK(sum <= 65535u * message.count);
    }
    FUZZ_CHECK(fault == NB_FAULT_MESSAGE || offset == packet->control.length);
}

static void rewrite_open(const struct nb_packet *packet)
{
    uint8_t out[NB_OPEN_MAX_BYTES];
    struct nb_packet again;
    struct nb_emitter emitter = {packet->version, packet->local_port, packet->foreign_port};
    if (packet->open.string.length > NETBLT_STRING_MAX_BYTES)
        return;
    size_t bytes = nb_write_open(out, &emitter, (enum nb_type)packet->type, &packet->open);
    FUZZ_CHECK(nb_decode(out, bytes, &again) == NB_FAULT_NONE);
    FUZZ_CHECK(again.open.unique_id == packet->open.unique_id && again.open.buffer_size == packet->open.buffer_size);
    FUZZ_CHECK(again.open.write == packet->open.write && again.open.max_buffers == packet->open.max_buffers);
    FUZZ_CHECK(again.open.string.length == packet->open.string.length);
}

static void look_at(const uint8_t *bytes, size_t size, const struct nb_packet *packet)
{
    FUZZ_CHECK(packet->length <= size && packet->length >= NETBLT_HEADER_BYTES);
    switch (packet->type) {
    case NB_OPEN:
    case NB_RESPONSE:
        FUZZ_CHECK(within(bytes, packet->length, packet->open.string.bytes, packet->open.string.length));
        rewrite_open(packet);
        break;
    case NB_QUIT:
    case NB_ABORT:
    case NB_REFUSED:
        FUZZ_CHECK(within(bytes, packet->length, packet->reason.bytes, packet->reason.length));
        break;
    case NB_DATA:
    case NB_LDATA:
        FUZZ_CHECK(within(bytes, packet->length, packet->data.data, packet->data.length));
        FUZZ_CHECK(packet->data.length == packet->length - (size_t)NETBLT_DATA_HEADER_BYTES);
        break;
    case NB_CONTROL:
        walk_control(packet);
        break;
    default:
        break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    /* As it is, and with the checksum made right: else hardly anything would get past it. */
    for (int repaired = 0; repaired < 2; repaired++) {
        uint8_t *bytes = malloc(size == 0 ? 1 : size); /* exactly as long, so that the sanitizer sees a step beyond */
        struct nb_packet packet;
        if (size > 0)
            memcpy(bytes, data, size);
        if (repaired)
            fuzz_repair(bytes, size);
        enum nb_fault fault = nb_decode(bytes, size, &packet);
        FUZZ_CHECK(!repaired || fault != NB_FAULT_CHECKSUM);
        if (fault == NB_FAULT_NONE || fault == NB_FAULT_CHECKSUM)
            look_at(bytes, size, &packet);
        free(bytes);
    }
    return 0;
}
