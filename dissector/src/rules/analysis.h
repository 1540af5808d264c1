/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The order of work on each packet: stream, copies, roles, then one rule after the other. */
#ifndef NETBLT_RULE_ANALYSIS_H
#define NETBLT_RULE_ANALYSIS_H

#include "connection/event.h"

/* To be called once when the protocol is registered. */
void nb_register_analysis(void);

/* First pass: updates the stream and judges the packet. Every pass: returns what is known about the frame's packet
 * `key` (nb_record_key); NULL when it belongs to no stream. Sets packet->data_checksum. */
const struct nb_record *nb_analyse(struct nb_packet *packet, const struct nb_carrier *carrier, packet_info *pinfo,
                                   uint32_t key, bool verified, struct nb_point point);

#endif
