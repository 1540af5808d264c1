/* SPDX-License-Identifier: BSD-2-Clause */
/* The data sender's ring of buffers: finding a buffer, what is left to send of it, giving it back to the client. */
#ifndef NETBLT_CORE_SEND_BUFFERS_H
#define NETBLT_CORE_SEND_BUFFERS_H

#include "connection/connection.h"

/* Functions take a connection whose role is NETBLT_SENDER and which has started. */

/* The buffer with this index; NULL: not in the ring. */
struct nb_send_buffer *nb_sender_buffer(const netblt_connection *connection, uint64_t index);
/* Removes the buffers at the front that got their OK. */
void nb_sender_pop_sent(netblt_connection *connection);
/* Gives the client the memory of one buffer back. */
void nb_sender_release(netblt_connection *connection, uint64_t index, const uint8_t *data);
/* Gives it back all that it has not got back yet. */
void nb_sender_release_all(netblt_connection *connection);
/* Frees the ring. The client gets nothing back by this. */
void nb_sender_free(netblt_connection *connection);
/* The peer has been validated: nothing more is withheld from it (resend_challenge.h). */
void nb_sender_end_challenges(netblt_connection *connection);
/* No buffer is half sent: a QUIT may go out (QUIT-04). */
bool nb_sender_at_boundary(const netblt_connection *connection);

bool nb_send_buffer_has_work(const struct nb_send_buffer *buffer);
/* Moves next_new past packets that are withheld. */
void nb_send_buffer_skip_omitted(struct nb_send_buffer *buffer);
/* Queues a packet below next_new to be sent, again or, if it was withheld, for the first time. */
void nb_send_buffer_queue_retransmission(struct nb_send_buffer *buffer, uint32_t packet);

#endif
