/* SPDX-License-Identifier: BSD-2-Clause */
/* The packet formats of RFC 998 8 and the functions that read and write them. */
#ifndef NETBLT_CORE_WIRE_H
#define NETBLT_CORE_WIRE_H

#include <netblt/params.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Packets of RFC 998 8 as structures. Decoding copies nothing: pointers lead into the packet. */

enum nb_type {
    NB_OPEN = 0,
    NB_RESPONSE = 1,
    NB_KEEPALIVE = 2,
    NB_QUIT = 3,
    NB_QUITACK = 4,
    NB_ABORT = 5,
    NB_DATA = 6,
    NB_LDATA = 7,
    NB_NULL_ACK = 8,
    NB_CONTROL = 9,
    NB_REFUSED = 10,
    NB_DONE = 11,
};

enum nb_message_type {
    NB_GO = 0,
    NB_OK = 1,
    NB_RESEND = 2,
};

/* What is wrong with a packet. */
enum nb_fault {
    NB_FAULT_NONE = 0,
    NB_FAULT_SHORT,    /* fewer bytes than the common header (ROBUST-01) */
    NB_FAULT_LENGTH,   /* Length beyond the bytes at hand, or below what the type needs (ROBUST-01) */
    NB_FAULT_TYPE,     /* unknown packet type (ROBUST-02) */
    NB_FAULT_CHECKSUM, /* CKSUM-06 */
    NB_FAULT_MESSAGE,  /* unknown or overrunning control message (ROBUST-02, ROBUST-03) */
};

enum {
    NB_OPEN_BYTES = 36,
    NB_NULL_ACK_BYTES = 20,
    NB_GO_BYTES = 8,
    NB_OK_BYTES = 16,
    NB_RESEND_BYTES = 12,           /* without the list */
    NB_FLAG_WRITE = 0x0001,         /* M */
    NB_FLAG_DATA_CHECKSUM = 0x0002, /* C */
    NB_FLAG_LAST_BUFFER = 0x0001,   /* L */
};

/* A text field: up to the first NUL, or up to Length when there is none (AMB-03, ROBUST-05). */
struct nb_text {
    const uint8_t *bytes;
    size_t length;
};

struct nb_open_fields {
    uint32_t unique_id;
    uint32_t buffer_size;
    uint32_t transfer_size;
    uint16_t packet_size;
    uint16_t burst_size;
    uint16_t burst_interval_ms;
    uint16_t death_timer_s;
    bool write;
    bool data_checksum;
    uint16_t reserved_flags; /* the other bits, in their places; ignored (AMB-16) */
    uint16_t max_buffers;
    struct nb_text string;
};

struct nb_data_fields {
    uint32_t buffer;
    uint16_t high_seq;
    uint16_t packet;
    uint16_t data_checksum;
    bool last_buffer;
    uint16_t reserved_flags;
    const uint8_t *data;
    size_t length;
};

struct nb_null_ack_fields {
    uint16_t high_seq;
    uint16_t burst_size;
    uint16_t burst_interval_ms;
    uint16_t padding; /* 0, or nb_guard_null_ack() */
};

struct nb_packet {
    uint16_t checksum;
    uint8_t version;
    uint8_t type;
    uint16_t length;
    uint16_t local_port; /* the emitter's (AMB-13) */
    uint16_t foreign_port;
    uint16_t padding;
    union {
        struct nb_open_fields open; /* OPEN, RESPONSE */
        struct nb_text reason;      /* QUIT, ABORT, REFUSED */
        struct nb_data_fields data; /* DATA, LDATA */
        struct nb_null_ack_fields null_ack;
        struct {
            const uint8_t *bytes;
            size_t length;
        } control; /* walk it with nb_next_message() */
    };
};

/* Reads the packet at the front of `size` bytes; bytes after the packet's Length are not looked at (AMB-02). On
 * NB_FAULT_CHECKSUM every field is filled all the same; on other faults `packet` must not be used. */
enum nb_fault nb_decode(const uint8_t *bytes, size_t size, struct nb_packet *packet);

struct nb_message {
    uint8_t type;
    uint16_t seq;
    uint32_t buffer;
    uint16_t burst_size; /* OK only, and the next two */
    uint16_t burst_interval_ms;
    uint16_t control_timer_ms;
    uint16_t count;         /* RESEND only: entries of the list */
    const uint8_t *packets; /* RESEND only: count big-endian 16-bit numbers, see nb_message_packet() */
};

/* Reads the message at *offset of a CONTROL's body and moves *offset past it. False at the end and on a fault
 * (*fault states which): what follows an unreadable message cannot be read either. */
bool nb_next_message(const uint8_t *body, size_t length, size_t *offset, struct nb_message *message,
                     enum nb_fault *fault);
uint16_t nb_message_packet(const struct nb_message *message, uint16_t i);

/* Bytes of a RESEND with `count` entries, padding included. */
size_t nb_resend_bytes(size_t count);

/* ---- writing: every function returns the packet's size in bytes and assumes that it fits. `out` is a whole packet. */

/* What an emitter writes into every header. */
struct nb_emitter {
    uint8_t version;
    uint16_t local_port;
    uint16_t foreign_port;
};

/* The largest packet of each shape, for fixed arrays. */
enum {
    NB_TEXT_FIELD_MAX_BYTES = (NETBLT_STRING_MAX_BYTES + 1 + 3) / 4 * 4,
    NB_OPEN_MAX_BYTES = NB_OPEN_BYTES + NB_TEXT_FIELD_MAX_BYTES,
    NB_REASON_MAX_BYTES = NETBLT_HEADER_BYTES + NB_TEXT_FIELD_MAX_BYTES,
};

/* KEEPALIVE, QUITACK, DONE (WIRE-06). */
size_t nb_write_bare(uint8_t *out, const struct nb_emitter *emitter, enum nb_type type);
/* QUIT, ABORT, REFUSED (WIRE-07). `reason` at most NETBLT_STRING_MAX_BYTES long. */
size_t nb_write_reason(uint8_t *out, const struct nb_emitter *emitter, enum nb_type type, const char *reason);
/* OPEN, RESPONSE (WIRE-08, WIRE-09). fields->string is written with its NULs, not at all if its bytes are NULL
 * (AMB-03); reserved bits are written as zero. */
size_t nb_write_open(uint8_t *out, const struct nb_emitter *emitter, enum nb_type type,
                     const struct nb_open_fields *fields);
size_t nb_write_null_ack(uint8_t *out, const struct nb_emitter *emitter, const struct nb_null_ack_fields *fields);
/* DATA, LDATA (WIRE-10): copies fields->data, computes the data checksum if asked, and adds zero bytes beyond Length up
 * to a multiple of 4 (AMB-02 form a); the size answered includes them. */
size_t nb_write_data(uint8_t *out, const struct nb_emitter *emitter, enum nb_type type,
                     const struct nb_data_fields *fields, bool data_checksum);
/* Closes a CONTROL whose messages lie at out + NETBLT_HEADER_BYTES. */
size_t nb_write_control(uint8_t *out, const struct nb_emitter *emitter, size_t messages_bytes);

/* One message at `out`, answering its bytes, a multiple of 4 (WIRE-12). */
size_t nb_write_go(uint8_t *out, uint16_t seq, uint32_t buffer);
size_t nb_write_ok(uint8_t *out, uint16_t seq, uint32_t buffer, uint16_t burst_size, uint16_t burst_interval_ms,
                   uint16_t control_timer_ms);
size_t nb_write_resend(uint8_t *out, uint16_t seq, uint32_t buffer, const uint16_t *packets, uint16_t count);

#endif
