/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Formats and checksums (RFC 998 5.1, section 8): WIRE, CKSUM-01..04. */
#ifndef NETBLT_RULE_WIRE_H
#define NETBLT_RULE_WIRE_H

#include "connection/event.h"

void nb_wire_register(void);

/* Of a packet that changes no state, and of any other. */
void nb_wire_broken(const struct nb_event *event, bool verified);
void nb_wire_packet(const struct nb_event *event);

/* WIRE-02: the version byte of an intact packet, whatever its dialect. */
void nb_wire_version(const struct nb_event *event);

/* Its bad checksum is what a known mistake makes: the packet is as it was emitted. */
bool nb_wire_is_miscomputed(const struct nb_packet *packet);

/* WIRE-08: an OPEN that is too short, with a right checksum. Nothing but its unique ID is read. */
bool nb_wire_is_short_open(const struct nb_packet *packet);

/* Control messages that came with a bad checksum only (CKSUM-06). */
struct nb_damaged {
    int64_t seq; /* the highest; 0: none */
    int64_t above;
    uint32_t frame;
};

const struct nb_damaged *nb_wire_damaged(const struct nb_stream *stream);

#endif
