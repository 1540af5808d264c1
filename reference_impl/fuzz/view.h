/* SPDX-License-Identifier: BSD-2-Clause */
/* Reader of NETBLT packets for the oracles: shares no code with the core. */
#ifndef NETBLT_FUZZ_VIEW_H
#define NETBLT_FUZZ_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    OPEN = 0,
    RESPONSE,
    KEEPALIVE,
    QUIT,
    QUITACK,
    ABORT,
    DATA,
    LDATA,
    NULL_ACK,
    CONTROL,
    REFUSED,
    DONE,
    GO = 0,
    OK = 1,
    RESEND = 2,
};

/* A packet. Fields of a type are set when `readable` is, and only for packets of that type. */
struct view {
    const uint8_t *bytes;
    size_t size;      /* bytes that were sent or arrived */
    bool readable;    /* Length fits and is long enough for the type */
    bool header_good; /* readable, and the header checksum holds */
    unsigned version, type, length, from_port, to_port;
    unsigned high_seq;                      /* DATA, LDATA, NULL-ACK */
    unsigned burst_size, burst_interval_ms; /* NULL-ACK */
    unsigned padding;                       /* NULL-ACK: the last field */
    uint32_t unique_id;                     /* OPEN, RESPONSE */
    const uint8_t *text;                    /* of OPEN, RESPONSE, and of those with a reason; may be unterminated */
    unsigned text_length;
    uint32_t buffer; /* DATA, LDATA, and all below */
    unsigned number;
    bool last_buffer;
    unsigned data_sum; /* the field */
    bool data_good;    /* the data checksum holds */
    const uint8_t *data;
    unsigned data_length;
};

struct view_message {
    unsigned type, seq;
    uint32_t buffer;
    unsigned burst_size, burst_interval_ms; /* OK */
    unsigned count;                         /* RESEND */
    const uint8_t *list;
};

/* Reads the packet at the front of `size` bytes and checks its checksums. */
void view_read(struct view *view, const uint8_t *bytes, size_t size);
/* Reads the message of a CONTROL at *at, 0 for the first, and moves *at past it. False at the end, and when the rest
 * cannot be read. */
bool view_next_message(const struct view *view, size_t *at, struct view_message *message);
/* The i-th packet number of a RESEND. */
unsigned view_resend_number(const struct view_message *message, unsigned i);

/* Sum of big-endian 16-bit words in ones-complement arithmetic. */
unsigned view_sum(const uint8_t *bytes, size_t length);

#endif
