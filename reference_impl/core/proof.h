/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NETBLT_CORE_PROOF_H
#define NETBLT_CORE_PROOF_H

#include "wire.h"

#include <netblt/endpoint.h>

/* RFC 998 cannot tell who sent an OPEN. So a passive end treats its peer as a stranger, who may have forged his
 * address, until the peer has shown that our packets reach it: by acknowledging a control message (we receive), by
 * completing a buffer or by a RESEND that leaves out packets that it must have got (we send). Until then it gets one
 * GO, or netblt_config.unproven_bytes of DATA and, backed off, as much again a few times; and KEEPALIVEs. The peer of
 * an active end is proven by the RESPONSE, which holds our random unique ID.
 *
 * An endpoint has a bounded number of strangers; a new one makes it forget the oldest. */

/* What is left for a stranger. */
struct nb_stranger {
    bool counted; /* among the endpoint's; the rest means nothing otherwise */
    netblt_connection *next, *before;
    uint32_t buffers; /* bytes, in packets, of buffers that may still be started */
    uint32_t bytes;   /* of DATA, until the next grant */
    unsigned grants;  /* so far, the first included */
    netblt_time next_grant_at;
};

struct nb_strangers {
    netblt_connection *oldest, *newest;
    uint32_t count;
};

/* A passive connection has opened. */
void nb_proof_wanted(netblt_connection *connection);
/* The peer has proven itself. */
void nb_proof_given(netblt_connection *connection);
/* The connection has ended. */
void nb_proof_forget(netblt_connection *connection);
bool nb_proof_is_missing(const netblt_connection *connection);
/* Before a connection is accepted: forgets the oldest stranger if there are as many as may be. */
void nb_proof_make_room(netblt_endpoint *endpoint);
/* The death timer that a passive end uses, and declares, instead of `own_s`, when the peer declares `peer_s` (0 = it
 * never dies). It bounds the KEEPALIVEs that a silent peer gets. */
uint16_t nb_proof_death_timer(const netblt_endpoint *endpoint, uint16_t own_s, uint16_t peer_s);

/* Whether a sender may start one more buffer: the first always, others as long as all fit into one grant. */
bool nb_proof_allows_buffer(const netblt_connection *connection);
void nb_proof_buffer_taken(netblt_connection *connection);
/* When a DATA packet of `bytes` bytes may leave: 0 for any time, NETBLT_TIME_NEVER for not before the peer has shown
 * itself. A peer that asks for packets again then is given up: nb_sender_is_denied(). */
netblt_time nb_proof_data_at(const netblt_connection *connection, size_t bytes);
/* It leaves now, at or after nb_proof_data_at(). */
void nb_proof_data_sent(netblt_connection *connection, size_t bytes, netblt_time now);

#endif
