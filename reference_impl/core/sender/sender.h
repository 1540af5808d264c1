/* SPDX-License-Identifier: BSD-2-Clause */
/* The data sender's half of a connection (RFC 998 5.2): what it does. */
#ifndef NETBLT_CORE_SENDER_H
#define NETBLT_CORE_SENDER_H

#include "connection/connection.h"

/* Functions take a connection whose role is NETBLT_SENDER. */

/* The connection has opened. */
void nb_sender_start(netblt_connection *connection);
void nb_sender_on_control(netblt_connection *connection, const struct nb_packet *packet, netblt_time now);
/* Everything that may follow from the events since the last step: asks the client for buffers, decides about NULL-ACK,
 * sees that the transfer is over. */
void nb_sender_step(netblt_connection *connection, netblt_time now);
/* When the next DATA may leave; NETBLT_TIME_NEVER when there is none to send. */
netblt_time nb_sender_next_data(const netblt_connection *connection, netblt_time now);
/* Writes one run of DATA and LDATA packets that may leave now. */
size_t nb_sender_write_data(netblt_connection *connection, uint8_t *packets, size_t capacity, netblt_output *output,
                            netblt_time now);
size_t nb_sender_write_null_ack(netblt_connection *connection, uint8_t *packet);

#endif
