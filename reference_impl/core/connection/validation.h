/* SPDX-License-Identifier: BSD-2-Clause */
/* Address validation of the peer of a passive end: what an unvalidated peer gets, what validates it, and how many there
 * may be. */
#ifndef NETBLT_CORE_VALIDATION_H
#define NETBLT_CORE_VALIDATION_H

#include "connection/connection.h"

/* RFC 998 cannot show who sent an OPEN: its source address may be forged, and then everything that we send goes to a
 * victim. A peer is validated when it has named something that it can only know from our packets (guard.h,
 * resend_challenge.h):
 *   - we receive: DATA carries the number of our buffer, which is random;
 *   - we send, and the peer knows guard.h: GO names the buffer number that the token of RESPONSE stands for;
 *   - we send to any other peer: RESEND names the packets that were withheld, with a probability of at most 2^-16 to do
 *     so by chance.
 * Until then its traffic is limited by the endpoint's budget (budget.h), a receiving end issues one GO, and a sending
 * end starts buffers of one second's budget. The peer of an active end is validated by RESPONSE, which holds the unique
 * ID.
 *
 * An endpoint has a bounded number of unvalidated peers. One more ends the one that has sent nothing but its OPEN for
 * the longest time, or else the oldest. */

/* A passive connection has been made, by an OPEN of `open_bytes` bytes. */
void nb_validation_begin(netblt_connection *connection, size_t open_bytes);
/* The peer is validated. The client, which is notified, may close the connection. */
void nb_validation_done(netblt_connection *connection);
/* The connection has ended. */
void nb_validation_forget(netblt_connection *connection);
bool nb_validation_is_missing(const netblt_connection *connection);
/* Whether the peer has got our RESPONSE, as far as this end knows. */
bool nb_validation_response_was_seen(const netblt_connection *connection);

/* Any packet has arrived for the connection. */
void nb_validation_received(netblt_connection *connection, const struct nb_packet *packet);
/* When a packet of `bytes` bytes may be sent to the peer of this connection: `now`, or later. */
netblt_time nb_validation_send_at(const netblt_connection *connection, size_t bytes, netblt_time now);
/* It leaves now. */
void nb_validation_sent(netblt_connection *connection, size_t bytes, netblt_time now);
/* The death timer that a passive end uses, and declares, instead of `own_s`, when the peer declares `peer_s` (0 = it
 * never dies). It bounds the KEEPALIVEs that a silent peer gets. */
uint16_t nb_validation_death_timer(const netblt_endpoint *endpoint, uint16_t own_s, uint16_t peer_s);

/* Whether a sender may start one more buffer. */
bool nb_validation_allows_buffer(const netblt_connection *connection);
/* It starts one of `packets` packets. Returns whether some of them are to be withheld. */
bool nb_validation_start_buffer(netblt_connection *connection, uint32_t packets);
/* RESENDs have named the withheld packets of one buffer, with this probability by chance. */
void nb_validation_named(netblt_connection *connection, double chance);

#endif
