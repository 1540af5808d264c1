/* SPDX-License-Identifier: BSD-2-Clause */
/* The ends of a connection: DONE, dally, QUIT, ABORT, death timer (RFC 998 5.3). */
#ifndef NETBLT_CORE_CLOSE_H
#define NETBLT_CORE_CLOSE_H

#include "connection/connection.h"

/* The ends of a connection (RFC 998 5.3; CLOSE, QUIT, ABORT). */

#define NB_BEYOND_4G_REASON "longer than 2^32 bytes, where RFC 998 ends a transfer"

/* Reports the outcome to the client, once; memory that the core still holds goes back first. */
void nb_close_finish(netblt_connection *connection, enum netblt_result result, const char *reason);
/* Nothing more will happen: the endpoint frees the connection before its call returns. */
void nb_close_now(netblt_connection *connection);

/* Receiver: all three conditions of 5.3.1 hold. One DONE leaves, and that is all (CLOSE-01, CLOSE-06). */
void nb_close_receiver_done(netblt_connection *connection);
/* Sender: every buffer got its OK. Dallies (CLOSE-02, CLOSE-04). */
void nb_close_sender_done(netblt_connection *connection, netblt_time now);
/* Sender in dally: a CONTROL was repeated, the dally restarts (CLOSE-05). */
void nb_close_extend_dally(netblt_connection *connection, netblt_time now);
/* This end found its peer malfunctioning, or itself: one ABORT, closed (ABORT-01). */
void nb_close_abort(netblt_connection *connection, const char *reason);

/* Before a connection is accepted: ends one unvalidated connection if there are as many as may be. */
void nb_close_make_room(netblt_endpoint *endpoint);
/* The network reports that no program at `foreign` takes our packets, or those from `local_port` (0 = any): ends
 * unvalidated connections with it, without a packet. */
void nb_close_unreachable(netblt_endpoint *endpoint, const netblt_address *foreign, uint16_t local_port);

/* The client wants to quit (netblt_quit). While opening there is nothing to be agreed upon: the attempt ends at once.
 */
void nb_close_want_quit(netblt_connection *connection, const char *reason, netblt_time now);
size_t nb_close_write_quit(const netblt_connection *connection, uint8_t *packet);

/* RFC 998 3 ends a transfer at 2^32 bytes. True when one that reaches to `end` is longer and options.beyond_4g does not
 * allow it: this end quits then (DATA-14). */
bool nb_close_beyond_4g(netblt_connection *connection, uint64_t end, netblt_time now);

void nb_close_on_done(netblt_connection *connection);
void nb_close_on_quit(netblt_connection *connection, const struct nb_packet *packet, netblt_time now);
void nb_close_on_quitack(netblt_connection *connection);
void nb_close_on_abort(netblt_connection *connection, const struct nb_packet *packet, netblt_time now);

/* Sends a wanted QUIT once a buffer boundary is reached (QUIT-04). */
void nb_close_step_quit(netblt_connection *connection, netblt_time now);
/* Dally, QUIT repetition, death timer. */
void nb_close_timeout(netblt_connection *connection, netblt_time now);
netblt_time nb_close_death_at(const netblt_connection *connection);

#endif
