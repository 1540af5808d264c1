/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which packets a rule matches: the NETBLT header fields that rules can name. */
#ifndef FLAKEWAY_MATCH_H
#define FLAKEWAY_MATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The NETBLT header fields that rules can name, and nothing else of the protocol (RFC 998 8). */
enum fw_packet_type {
    FW_OPEN = 0,
    FW_RESPONSE = 1,
    FW_KEEPALIVE = 2,
    FW_QUIT = 3,
    FW_QUITACK = 4,
    FW_ABORT = 5,
    FW_DATA = 6,
    FW_LDATA = 7,
    FW_NULL_ACK = 8,
    FW_CONTROL = 9,
    FW_REFUSED = 10,
    FW_DONE = 11,
};

enum fw_message_type {
    FW_GO = 0,
    FW_OK = 1,
    FW_RESEND = 2,
};

typedef struct fw_range {
    bool set;
    uint32_t first;
    uint32_t last; /* >= first */
} fw_range;

/* What a rule asks of a packet. An empty condition is met by every packet. */
typedef struct fw_condition {
    uint8_t directions; /* bit flakeway_direction */
    bool any_type;      /* no type was named: types and messages are empty */
    uint16_t types;     /* bit fw_packet_type */
    uint8_t messages;   /* bit fw_message_type: a CONTROL packet that contains one of them */
    fw_range type_code; /* the type byte as a number, known or not; instead of names */
    fw_range buffer;    /* of a DATA or LDATA packet, or of one message of a CONTROL packet */
    fw_range packet;    /* number of a DATA or LDATA packet, or listed in a RESEND */
    fw_range sequence;  /* of one message of a CONTROL packet */
} fw_condition;

/* Is the packet one that the condition describes? Direction is the caller's affair. Messages that do not fit into the
 * packet are not looked at; buffer, packet and sequence must be met by one and the same message. */
bool fw_condition_met(const fw_condition *condition, const uint8_t *netblt, size_t length);

#endif
