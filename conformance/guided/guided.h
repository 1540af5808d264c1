/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parts of the reference core whose choices are made from outside: what a judge needs that follows an implementation
 * packet by packet. Python loads it (netblt_conformance/simlib/guided.py), and reads the declarations in this file. */
#ifndef NETBLT_GUIDED_H
#define NETBLT_GUIDED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif

/* ---- packets ------------------------------------------------------------------------------------------------- */

/* One control message. `packets_at` is where a RESEND's list begins in its packet: `count` numbers of 16 bits, most
 * significant byte first. */
typedef struct guided_message {
    uint8_t type;
    uint16_t seq;
    uint32_t buffer;
    uint16_t burst_size;
    uint16_t burst_interval_ms;
    uint16_t control_timer_ms;
    uint16_t count;
    uint32_t packets_at;
} guided_message;

/* A packet as the core reads it. Fields that its type does not have are 0. */
typedef struct guided_packet {
    uint8_t type;
    uint8_t version;
    uint16_t checksum;
    uint16_t length;
    uint16_t local_port;
    uint16_t foreign_port;
    uint32_t unique_id;
    uint32_t buffer_size;
    uint32_t transfer_size;
    uint16_t packet_size;
    uint16_t burst_size;
    uint16_t burst_interval_ms;
    uint16_t death_timer_s;
    uint16_t max_buffers;
    uint16_t flags; /* of OPEN, RESPONSE, DATA and LDATA, reserved bits too */
    uint32_t buffer;
    uint16_t high_seq;
    uint16_t packet;
    uint16_t data_checksum;
    uint32_t data_length;
} guided_packet;

/* Reads the packet at the front of `size` bytes. Returns 0, or why the core drops it: 1 shorter than a header, 2 wrong
 * Length, 3 unknown type, 4 wrong checksum (all fields are filled). */
int guided_read(const uint8_t *bytes, size_t size, guided_packet *packet);

/* Reads the messages of a CONTROL that guided_read() accepts, `capacity` at most. Returns how many there are, and sets
 * *fault where the rest cannot be read. */
size_t guided_messages(const uint8_t *bytes, size_t size, guided_message *messages, size_t capacity, bool *fault);

/* Writes what the core sends with the fields of this packet, which guided_read() accepts or drops for its checksum.
 * `data_checksum`: it is agreed. `out` holds at least 65540 bytes. Returns the bytes written, 0 where the core cannot
 * write it. */
size_t guided_rewrite(const uint8_t *bytes, size_t size, bool data_checksum, uint8_t *out);

/* Whether the checksum field at offset 0 is right for the first `length` bytes. */
bool guided_checksum_holds(const uint8_t *bytes, size_t length);
/* Whether `checksum` is that of `length` bytes of data. */
bool guided_data_checksum_holds(const uint8_t *data, size_t length, uint16_t checksum);

/* Writes the RESPONSE of a passive core whose limits are the values of the RESPONSE given: equal to it, unless that
 * is less restrictive than the OPEN. Returns the bytes written. */
size_t guided_respond(const uint8_t *open, size_t open_size, const uint8_t *response, size_t response_size,
                      uint8_t *out);

/* ---- control messages ---------------------------------------------------------------------------------------- */

typedef struct guided_queue guided_queue;

/* The data receiver's queue, whose messages are chosen from outside. NULL: no memory. */
guided_queue *guided_queue_new(void);
void guided_queue_free(guided_queue *queue);
/* The number of the next message. */
uint16_t guided_queue_next(const guided_queue *queue);
/* The number of the oldest message that is not acknowledged; of the next one when there is none. */
uint16_t guided_queue_first(const guided_queue *queue);
/* Adds the message with the next number; `packets` are those of a RESEND. */
bool guided_queue_add(guided_queue *queue, const guided_message *message, const uint16_t *packets);
/* Drops all messages; the next one has this number. */
void guided_queue_restart(guided_queue *queue, uint16_t next);
/* Drops what `ack` acknowledges, as far as it is there. */
void guided_queue_ack(guided_queue *queue, uint16_t ack);
/* Writes the messages that the next CONTROL holds, of which the core writes all that fit. `out` holds at least 65536
 * bytes. Returns the bytes written. */
size_t guided_queue_write(guided_queue *queue, uint16_t control_timer_ms, uint8_t *out);

typedef struct guided_sequence guided_sequence;

/* The data sender's memory of the numbers that it has received. NULL: no memory. */
guided_sequence *guided_sequence_new(void);
void guided_sequence_free(guided_sequence *sequence);
void guided_sequence_record(guided_sequence *sequence, uint16_t seq);
/* The high consecutive sequence number received. */
uint16_t guided_sequence_high(const guided_sequence *sequence);

/* ---- the data receiver --------------------------------------------------------------------------------------- */

typedef struct guided_receiver guided_receiver;

/* What was agreed on. */
typedef struct guided_terms {
    uint32_t buffer_size;
    uint16_t packet_size;
    bool data_checksum;
} guided_terms;

/* An open connection of the core as data receiver, whose client lends a buffer when guided_receiver_go() is called.
 * NULL: no memory, or terms that the core does not accept. */
guided_receiver *guided_receiver_new(const guided_terms *terms, uint64_t now_us);
void guided_receiver_free(guided_receiver *receiver);
/* The next GO is issued. Buffers are counted from 0 in the order of their GOs. False: the core issues none. */
bool guided_receiver_go(guided_receiver *receiver, uint64_t now_us);
/* A DATA or LDATA arrives for a buffer. */
void guided_receiver_data(guided_receiver *receiver, uint32_t buffer, const uint8_t *bytes, size_t size,
                          uint64_t now_us);
/* Whether all packets of a buffer have arrived. */
bool guided_receiver_has(const guided_receiver *receiver, uint32_t buffer);
/* Writes the numbers of packets of an incomplete buffer that have not arrived, up to the highest that is known to
 * exist. Returns how many there are, `capacity` at most. */
size_t guided_receiver_missing(const guided_receiver *receiver, uint32_t buffer, uint16_t *packets, size_t capacity);
/* Whether a packet with the L flag has arrived: *buffer is the last one. */
bool guided_receiver_last(const guided_receiver *receiver, uint32_t *buffer);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif

#endif
