/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A small pcapng writer: one section, several interfaces, nanosecond timestamps, packet comments. */
#include "pcapng.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Block and option codes of the pcapng format. Everything is written little-endian, so that a file's bytes do not
 * depend on the machine. */
#define BLOCK_SECTION_HEADER 0x0a0d0d0au
#define BLOCK_INTERFACE 1u
#define BLOCK_ENHANCED_PACKET 6u
#define BYTE_ORDER_MAGIC 0x1a2b3c4du
#define OPTION_END 0
#define OPTION_COMMENT 1
#define OPTION_SHB_APPLICATION 4
#define OPTION_IF_NAME 2
#define OPTION_IF_DESCRIPTION 3
#define OPTION_IF_TSRESOL 9
#define OPTION_EPB_FLAGS 2
#define OPTION_EPB_PACKETID 5
#define TSRESOL_NANOSECONDS 9
#define OPTION_MAX_BYTES 65532u /* an option's length has 16 bits; kept a multiple of 4 */

struct pcapng_writer {
    FILE *file;     /* NULL = memory only */
    uint8_t *bytes; /* in memory: all blocks; else the block being built */
    size_t length;
    size_t capacity;
    size_t block; /* where the block being built begins */
    int error;
    int interfaces;
    uint64_t packets;
};

/* ---- building a block ------------------------------------------------------------------------------------- */

static bool reserve(pcapng_writer *writer, size_t more)
{
    if (writer->error)
        return false;
    if (writer->length + more <= writer->capacity)
        return true;
    size_t capacity = writer->capacity ? writer->capacity : 4096;
    while (capacity < writer->length + more)
        capacity *= 2;
    uint8_t *bytes = realloc(writer->bytes, capacity);
    if (!bytes) {
        writer->error = ENOMEM;
        return false;
    }
    writer->bytes = bytes;
    writer->capacity = capacity;
    return true;
}

static void put(pcapng_writer *writer, const void *bytes, size_t length)
{
    if (length && reserve(writer, length)) {
        memcpy(writer->bytes + writer->length, bytes, length);
        writer->length += length;
    }
}

static void put_number(pcapng_writer *writer, uint64_t number, size_t bytes)
{
    uint8_t little_endian[8];
    for (size_t i = 0; i < bytes; i++)
        little_endian[i] = (uint8_t)(number >> 8 * i);
    put(writer, little_endian, bytes);
}

static void put_padded(pcapng_writer *writer, const void *bytes, size_t length)
{
    static const uint8_t zeroes[4];
    put(writer, bytes, length);
    put(writer, zeroes, (4 - length % 4) % 4);
}

static void put_option(pcapng_writer *writer, unsigned code, const void *value, size_t length)
{
    put_number(writer, code, 2);
    put_number(writer, length, 2);
    put_padded(writer, value, length);
}

/* The longest beginning of `text` that fits and does not end inside a UTF-8 character. */
static size_t text_length(const char *text)
{
    size_t length = strnlen(text, OPTION_MAX_BYTES + 1);
    if (length > OPTION_MAX_BYTES) {
        length = OPTION_MAX_BYTES;
        while (length && ((unsigned char)text[length] & 0xc0) == 0x80)
            length--;
    }
    return length;
}

static void put_text_option(pcapng_writer *writer, unsigned code, const char *text)
{
    if (text && text[0])
        put_option(writer, code, text, text_length(text));
}

static void begin_block(pcapng_writer *writer, uint32_t type)
{
    writer->block = writer->length;
    put_number(writer, type, 4);
    put_number(writer, 0, 4); /* the length, filled in by end_block() */
}

/* Closes the block and, when there is a file, writes it. A block that could not be built leaves no trace. */
static bool end_block(pcapng_writer *writer)
{
    size_t total = writer->length - writer->block + 4;
    put_number(writer, total, 4);
    if (writer->error) {
        writer->length = writer->block;
        return false;
    }
    for (size_t i = 0; i < 4; i++)
        writer->bytes[writer->block + 4 + i] = (uint8_t)(total >> 8 * i);
    if (writer->file) {
        errno = 0;
        if (fwrite(writer->bytes, 1, writer->length, writer->file) != writer->length)
            writer->error = errno ? errno : EIO;
        writer->length = 0;
    }
    return writer->error == 0;
}

/* ---- public ----------------------------------------------------------------------------------------------- */

pcapng_writer *pcapng_new(FILE *file, const char *application)
{
    pcapng_writer *writer = calloc(1, sizeof *writer);
    if (!writer)
        return NULL;
    writer->file = file;
    begin_block(writer, BLOCK_SECTION_HEADER);
    put_number(writer, BYTE_ORDER_MAGIC, 4);
    put_number(writer, 1, 2); /* version 1.0 */
    put_number(writer, 0, 2);
    put_number(writer, UINT64_MAX, 8); /* the section's length is not given */
    put_text_option(writer, OPTION_SHB_APPLICATION, application);
    if (application && application[0])
        put_option(writer, OPTION_END, NULL, 0);
    end_block(writer);
    return writer;
}

void pcapng_free(pcapng_writer *writer)
{
    if (writer) {
        free(writer->bytes);
        free(writer);
    }
}

int pcapng_add_interface(pcapng_writer *writer, const char *name, const char *description, uint16_t linktype)
{
    static const uint8_t nanoseconds = TSRESOL_NANOSECONDS;
    begin_block(writer, BLOCK_INTERFACE);
    put_number(writer, linktype, 2);
    put_number(writer, 0, 2);
    put_number(writer, 0, 4); /* no snapshot length: packets are whole */
    put_text_option(writer, OPTION_IF_NAME, name);
    put_text_option(writer, OPTION_IF_DESCRIPTION, description);
    put_option(writer, OPTION_IF_TSRESOL, &nanoseconds, 1);
    put_option(writer, OPTION_END, NULL, 0);
    return end_block(writer) ? writer->interfaces++ : -1;
}

static void put_packet_options(pcapng_writer *writer, const pcapng_packet *packet)
{
    bool has_comment = packet->comment && packet->comment[0];
    if (packet->direction != PCAPNG_UNKNOWN) {
        const uint8_t flags[4] = {(uint8_t)packet->direction};
        put_option(writer, OPTION_EPB_FLAGS, flags, sizeof flags);
    }
    if (packet->packet_id) {
        put_number(writer, OPTION_EPB_PACKETID, 2);
        put_number(writer, 8, 2);
        put_number(writer, packet->packet_id, 8);
    }
    put_text_option(writer, OPTION_COMMENT, packet->comment);
    if (has_comment || packet->packet_id || packet->direction != PCAPNG_UNKNOWN)
        put_option(writer, OPTION_END, NULL, 0);
}

bool pcapng_write(pcapng_writer *writer, const pcapng_packet *packet)
{
    if (!writer->error && packet->interface >= (unsigned)writer->interfaces)
        writer->error = EINVAL; /* a packet of an interface that was never added */
    if (writer->error)
        return false;
    begin_block(writer, BLOCK_ENHANCED_PACKET);
    put_number(writer, packet->interface, 4);
    put_number(writer, packet->time_ns >> 32, 4);
    put_number(writer, packet->time_ns, 4);
    put_number(writer, packet->length, 4);
    put_number(writer, packet->original_length ? packet->original_length : packet->length, 4);
    put_padded(writer, packet->bytes, packet->length);
    put_packet_options(writer, packet);
    if (!end_block(writer))
        return false;
    writer->packets++;
    return true;
}

const uint8_t *pcapng_bytes(const pcapng_writer *writer, size_t *length)
{
    *length = writer->file ? 0 : writer->length;
    return writer->file ? NULL : writer->bytes;
}

bool pcapng_flush(pcapng_writer *writer)
{
    if (writer->file && !writer->error && fflush(writer->file) != 0)
        writer->error = errno;
    return writer->error == 0;
}

int pcapng_error(const pcapng_writer *writer)
{
    return writer->error;
}

int pcapng_interfaces(const pcapng_writer *writer)
{
    return writer->interfaces;
}

uint64_t pcapng_packets_written(const pcapng_writer *writer)
{
    return writer->packets;
}
