/* SPDX-License-Identifier: BSD-2-Clause */
/* The data receiver's ring of buffers: finding a buffer, giving its memory back to the client, stopping its timers. */
#ifndef NETBLT_CORE_RECEIVE_BUFFERS_H
#define NETBLT_CORE_RECEIVE_BUFFERS_H

#include "connection/connection.h"

/* Functions take a connection whose role is NETBLT_RECEIVER and which has started. */

/* Buffer i of the ring, from the lowest that was not delivered. */
struct nb_receive_buffer *nb_receiver_buffer(const struct nb_receiver *receiver, size_t i);
/* Gives memory back to the client, whose content is of no use. */
void nb_receiver_discard(netblt_connection *connection, uint64_t index, uint8_t *memory);
/* The same with the memory of a buffer, if it is not with the client already. */
void nb_receiver_discard_buffer(netblt_connection *connection, uint64_t index, struct nb_receive_buffer *buffer);
void nb_receiver_discard_all(netblt_connection *connection);
/* Frees the ring and the control queue. The client gets nothing back by this. */
void nb_receiver_free(netblt_connection *connection);
/* The data phase is over, or the connection is. */
void nb_receiver_stop_timers(netblt_connection *connection);
/* No buffer is half received (QUIT-04). */
bool nb_receiver_at_boundary(const netblt_connection *connection);

#endif
