/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A small pcapng writer: one section, several interfaces, nanosecond timestamps, packet comments. */
#ifndef FLAKEWAY_PCAPNG_H
#define FLAKEWAY_PCAPNG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* A small pcapng writer: one section, any number of interfaces, nanosecond timestamps, packet comments and directions.
 * It writes nothing that it was not given, so equal calls give equal bytes. */
typedef struct pcapng_writer pcapng_writer;

#define PCAPNG_LINKTYPE_ETHERNET 1
#define PCAPNG_LINKTYPE_RAW 101 /* the packet begins with its IP header */

enum pcapng_direction {
    PCAPNG_UNKNOWN = 0,
    PCAPNG_INBOUND = 1,
    PCAPNG_OUTBOUND = 2,
};

typedef struct pcapng_packet {
    unsigned interface; /* as pcapng_add_interface() answered */
    uint64_t time_ns;   /* since 1970-01-01 UTC, or since the start in virtual time */
    const uint8_t *bytes;
    size_t length;
    size_t original_length; /* 0 = length */
    enum pcapng_direction direction;
    uint64_t packet_id;  /* the same packet on two interfaces has the same ID; 0 = none */
    const char *comment; /* UTF-8; NULL = none */
} pcapng_packet;

/* Writes to `file`, which stays the caller's, or, when it is NULL, to memory. `application` goes into the section
 * header; NULL = none. NULL when memory is short. */
pcapng_writer *pcapng_new(FILE *file, const char *application);
/* Does not flush or close the file. NULL is allowed. */
void pcapng_free(pcapng_writer *writer);

/* Answers the interface's number (0, 1, ...), or -1 after an error. `description` may be NULL. */
int pcapng_add_interface(pcapng_writer *writer, const char *name, const char *description, uint16_t linktype);
/* false after an error, see pcapng_error(). */
bool pcapng_write(pcapng_writer *writer, const pcapng_packet *packet);
/* Everything written so far when the writer writes to memory, else NULL. Valid until the next call. */
const uint8_t *pcapng_bytes(const pcapng_writer *writer, size_t *length);
/* Flushes the file. false after this or an earlier error. */
bool pcapng_flush(pcapng_writer *writer);
/* The first error as an errno value; 0 = none. Nothing is written after it. */
int pcapng_error(const pcapng_writer *writer);
uint64_t pcapng_packets_written(const pcapng_writer *writer);
int pcapng_interfaces(const pcapng_writer *writer);

#endif
