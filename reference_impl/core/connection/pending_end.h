/* SPDX-License-Identifier: BSD-2-Clause */
/* ABORT, QUIT and REFUSED whose sender is not known: they are believed when nothing else arrives any more. */
#ifndef NETBLT_CORE_PENDING_END_H
#define NETBLT_CORE_PENDING_END_H

#include "connection/connection.h"

/* With RFC 998 any host can end a connection whose two port numbers it guesses: none of these packets carries an ID.
 * With a secret (netblt_config.secret) this end believes such a packet at once when it holds the proof of guard.h,
 * ignores it without when the peer is known to send the proof, and otherwise waits a moment in silence, as RFC 5961
 * does for RST: a peer that goes on transferring has not sent it. */

enum nb_end_belief {
    NB_END_BELIEVED, /* end the connection now */
    NB_END_IGNORED,
    NB_END_WAITS, /* until nb_pending_end_is_due() */
};

/* An ABORT, QUIT or REFUSED with this reason has arrived. The proof is taken off the reason. */
enum nb_end_belief nb_pending_end_decide(netblt_connection *connection, enum nb_type type, char *reason,
                                         netblt_time now);
/* A packet of a transfer that goes on, or the RESPONSE of one that begins, has arrived. */
void nb_pending_end_refute(netblt_connection *connection, netblt_time now);
/* Whether the wait is over: the packet that it was for is to be believed. */
bool nb_pending_end_is_due(const netblt_connection *connection, netblt_time now);
/* The wait is over, whatever came of it. */
void nb_pending_end_settle(netblt_connection *connection);

#endif
