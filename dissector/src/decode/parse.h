/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads the facts of one packet without showing anything: the tree (packet-netblt.c) and the analysis use the same. */
#ifndef NETBLT_PARSE_H
#define NETBLT_PARSE_H

#include "decode/dialect.h"
#include "decode/netblt.h"
#include "wireshark/compat.h"

enum nb_status {
    NB_SOUND,         /* header and fixed part are there and consistent */
    NB_SHORT,         /* fewer than 12 bytes (ROBUST-01) */
    NB_LENGTH_BEYOND, /* Length exceeds the payload (WIRE-04) */
    NB_LENGTH_BELOW,  /* Length is below the minimum of the type (ROBUST-01) */
    NB_UNKNOWN_TYPE,  /* ROBUST-02 */
    NB_CUT,           /* the capture or a missing fragment ends before the packet does: no fault of an end */
};

enum nb_checksum { NB_UNVERIFIED, NB_GOOD, NB_BAD, NB_COVERS_DATA };

struct nb_packet {
    tvbuff_t *tvb;     /* starts at the NETBLT header, ends with the IP payload */
    int reported;      /* bytes of IP payload that were on the wire */
    int captured;      /* of these, bytes in the capture */
    int end;           /* end of the packet by its Length, never beyond `reported` */
    bool fragment;     /* first fragment of a datagram that was not put together */
    bool in_fragments; /* it came in fragments that were put together */
    bool ipv4;         /* ip_id is valid */
    uint16_t ip_id;
    enum nb_status status;
    enum nb_dialect dialect;
    bool dialect_certain; /* the packet itself shows whether it is RFC 998 or ETFTP, or it is version 4 */
    const struct nb_layout *layout;
    enum nb_checksum header_checksum;
    enum nb_checksum data_checksum; /* set by the analysis, which knows what was negotiated */
    uint16_t header_sum;            /* ones-complement sum over the covered bytes */
    uint16_t checksum;
    uint8_t version;
    uint8_t type;      /* enum nb_type: RFC 998's code of this type, whatever the dialect calls it */
    uint8_t type_code; /* as it is in the packet */
    uint16_t length;
    uint16_t local_port;
    uint16_t foreign_port;
    /* valid for the types that have them, when status is NB_SOUND */
    uint32_t uid;
    uint32_t buffer_size;
    uint32_t transfer_size;    /* 0 not given */
    uint16_t data_packet_size; /* OPEN, RESPONSE; ETFTP also NULL-ACK */
    uint16_t burst_size;       /* OPEN, RESPONSE, NULL-ACK; version 4 also DATA, LDATA */
    uint16_t burst_interval;   /* ms; as burst_size */
    uint16_t death_timer;      /* s */
    uint16_t open_flags;       /* bits as in RFC 998 */
    uint16_t max_buffers;
    uint32_t buffer;
    uint16_t high_seq;
    uint16_t packet;
    uint16_t data_flags;
};

struct nb_message {
    uint8_t type;
    uint16_t seq;
    uint32_t buffer;
    uint16_t count; /* RESEND: number of packet numbers */
    int list;       /* RESEND: offset of the packet numbers in the packet */
    int offset;     /* of the message in the packet */
    int bytes;      /* the message takes in the packet, padding included */
};

enum nb_walk { NB_MESSAGE, NB_END, NB_RESIDUE, NB_UNKNOWN_MESSAGE, NB_OVERRUN, NB_WALK_CUT };

bool nb_is_data(uint8_t type);
bool nb_has_high_seq(uint8_t type);

/* How to read a payload. */
struct nb_reading {
    bool fragment;           /* first fragment of a datagram that was not put together */
    bool verify;             /* false leaves checksums unverified */
    bool udp;                /* ETFTP runs over UDP only */
    bool etftp_port;         /* UDP port 1818 at either end */
    enum nb_dialect dialect; /* NB_AUTO: to be detected */
};

/* Fills *packet from the payload `tvb`. Never throws. */
void nb_parse(struct nb_packet *packet, tvbuff_t *tvb, const struct nb_reading *reading);

/* Another dialect with the same type codes and offsets turned out to be spoken: RFC 998 or ETFTP. */
void nb_read_as(struct nb_packet *packet, enum nb_dialect dialect);

/* Steps through the messages of a CONTROL: start with *offset = 12, call until the result is not NB_MESSAGE. */
enum nb_walk nb_next_message(const struct nb_packet *packet, int *offset, struct nb_message *message);

/* Packet number `entry` (0..count-1) of a RESEND message returned by nb_next_message. */
uint16_t nb_resend_entry(const struct nb_packet *packet, const struct nb_message *message, unsigned entry);

/* The client string of a RESPONSE ends in the token with which two netblt commands recognize each other
 * (docs/security.md): NULL-ACKs of this connection hold a hash in their padding. */
bool nb_is_guarded(const struct nb_packet *packet);

/* The names of enum nb_type, in its order: element `type` is the name of that type. */
extern const value_string nb_type_names[];

/* Name of an enum nb_type; NULL for others. */
const char *nb_type_name(uint8_t type);

#endif
