/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which data packet sizes are in force. RFC 998 has one for each connection; in ETFTP an OK may offer another one when
 * both ends have set R (RFC 1986 2.2). */
#ifndef NETBLT_RULE_SIZES_H
#define NETBLT_RULE_SIZES_H

#include "connection/event.h"

/* To be called once when the protocol is registered. */
void nb_sizes_register(void);

/* An OPEN or RESPONSE sets R: both ends have to. */
void nb_sizes_flags(const struct nb_event *event);

/* OPEN and RESPONSE set R. */
bool nb_sizes_are_open(const struct nb_stream *stream);

/* An OK offers this size, in bytes; 0: none. */
void nb_sizes_offer(const struct nb_event *event, uint16_t size);

/* Another size than that of the RESPONSE was offered, or may have been in a message that was not captured: how many
 * packets a buffer has is not known. */
bool nb_sizes_vary(const struct nb_stream *stream);

/* The size in force that data of this length fit best; `agreed`: that of the RESPONSE. */
int nb_sizes_in_force(const struct nb_stream *stream, int agreed, int length, bool ldata);

/* Packets of a full buffer; 0 when not known. */
uint32_t nb_sizes_full_count(const struct nb_stream *stream);

#endif
