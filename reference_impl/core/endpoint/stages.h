/* SPDX-License-Identifier: BSD-2-Clause */
/* The stages of one connection: opening, transferring, quitting, dallying. Passes packets, moments and room for output
 * to the part that the stage and the role need. */
#ifndef NETBLT_CORE_STAGES_H
#define NETBLT_CORE_STAGES_H

#include "connection/connection.h"

/* A packet for this connection; its checksum holds. */
void nb_connection_input(netblt_connection *connection, const struct nb_packet *packet, netblt_time now);
/* Runs the timers that are due. */
void nb_connection_timeout(netblt_connection *connection, netblt_time now);
/* Follows up on whatever happened. */
void nb_connection_step(netblt_connection *connection, netblt_time now);
/* The next moment at which a timer is due or DATA may leave. */
netblt_time nb_connection_deadline(const netblt_connection *connection, netblt_time now);
bool nb_connection_has_output(const netblt_connection *connection, netblt_time now);
/* One run of packets; 0 when nothing may leave or nothing fits. */
size_t nb_connection_output(netblt_connection *connection, uint8_t *packets, size_t capacity, netblt_output *output,
                            netblt_time now);

#endif
