/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Three ways to lay out a NETBLT packet: RFC 998, RFC 1986 (ETFTP) and version 4 (TACO2; version 5 is its draft
 * successor). All share the 12-byte header; type codes and offsets differ. */
#ifndef NETBLT_DIALECT_H
#define NETBLT_DIALECT_H

#include "wireshark/compat.h"

enum nb_dialect {
    NB_AUTO, /* as preference only */
    NB_RFC998,
    NB_ETFTP,
    NB_VERSION4,
    NB_DIALECTS
};

/* Offsets from the first byte of the packet; 0 means that the dialect has no such field. */
struct nb_layout {
    const char *protocol; /* in Wireshark's Protocol column */
    /* OPEN, RESPONSE */
    uint8_t transfer_size;
    uint8_t data_packet_size; /* then burst size, burst interval, death timer, flags, maximum of outstanding buffers */
    uint8_t radio_delay;
    uint8_t client_string; /* also the smallest Length */
    uint16_t open_reserved;
    /* DATA, LDATA */
    uint8_t last_touched;
    uint8_t high_seq; /* then packet number, data checksum, flags */
    uint8_t data_burst;
    uint8_t data; /* also the smallest Length, and the reach of the header checksum */
    /* NULL-ACK */
    uint8_t null_ack_touched;
    uint8_t null_ack_high_seq; /* then burst size, burst interval */
    uint8_t null_ack_flags;
    uint8_t null_ack_packet_size;
    uint8_t null_ack; /* the only Length */
    /* CONTROL; offsets from the message */
    uint8_t ok_packet_size;
    uint8_t resend_burst;
    uint8_t resend_list;
};

extern const value_string nb_dialect_names[]; /* of enum nb_dialect, but for NB_AUTO */

/* Never NULL for a dialect other than NB_AUTO. */
const struct nb_layout *nb_layout_of(enum nb_dialect dialect);

/* What M in the flags of an OPEN or RESPONSE means: does the end that opened send? RFC 1986 turns it (R1986-04). */
bool nb_active_sends(enum nb_dialect dialect, uint16_t flags);

/* READ or WRITE; ETFTP's commands are GET and PUT. */
const char *nb_mode_name(enum nb_dialect dialect, uint16_t flags);

/* The enum nb_type of a type code; -1 when the dialect does not know it. `version` distinguishes version 5 from 4. */
int nb_type_of_code(enum nb_dialect dialect, uint8_t version, uint8_t code);

/* Smallest legal Length in bytes; 12 for unknown types. */
int nb_minimum_length(const struct nb_layout *layout, uint8_t type);

/* Does the string field of this OPEN or RESPONSE (all captured, `end` is where it ends) make sense at ETFTP's offset
 * but not at RFC 998's? */
bool nb_strings_as_etftp(tvbuff_t *tvb, int end);

/* Does it make sense where RFC 998 has it? */
bool nb_strings_as_rfc998(tvbuff_t *tvb, int end);

/* Does it make sense where version 4 has it? An OPEN of RFC 998 has its flags and the number of buffers there, which
 * are no text. */
bool nb_strings_as_version4(tvbuff_t *tvb, int end);

#endif
