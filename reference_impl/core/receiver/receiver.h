/* SPDX-License-Identifier: BSD-2-Clause */
/* The data receiver's half of a connection (RFC 998 5.2): what it does. */
#ifndef NETBLT_CORE_RECEIVER_H
#define NETBLT_CORE_RECEIVER_H

#include "connection/connection.h"

/* Functions take a connection whose role is NETBLT_RECEIVER. */

/* `first_round_trip_us`: of OPEN and RESPONSE, 0 if not measured. */
void nb_receiver_start(netblt_connection *connection, netblt_time first_round_trip_us);

void nb_receiver_on_data(netblt_connection *connection, const struct nb_packet *packet, netblt_time now);
void nb_receiver_on_null_ack(netblt_connection *connection, const struct nb_packet *packet, netblt_time now);
/* Asks the client for memory and queues GOs, has news sent, sees that the transfer is over. */
void nb_receiver_step(netblt_connection *connection);
/* Runs the control timer and the data timers. */
void nb_receiver_timeout(netblt_connection *connection, netblt_time now);
netblt_time nb_receiver_deadline(const netblt_connection *connection);
/* The CONTROL packet; arms the control timer. */
size_t nb_receiver_write_control(netblt_connection *connection, uint8_t *packet, size_t capacity, netblt_time now);

/* For receiver_data.c and receiver_timers.c. */
/* `ack` came in the header of a packet: drops messages, moves buffers from ACK-WAIT on, measures the round trip. */
void nb_receiver_on_ack(netblt_connection *connection, uint16_t ack, netblt_time now);
/* Buffer i of the ring got its first packet since it was ACKED: tight timers for it and for all ACKED ones below
 * (TIMER-05, TIMER-06). */
void nb_receiver_arm_tight(netblt_connection *connection, size_t i, netblt_time now);
/* The LDATA of buffer i arrived: nothing of it is still to come but what the network has reordered (ORDER-03). The data
 * timer waits only for that; no RESEND yet (RESEND-07). Not with a profile whose measured pace decides. */
void nb_receiver_arm_at_ldata(netblt_connection *connection, size_t i, netblt_time now);
/* Buffer i is complete: queues OK, gives it to the client. The OK that would complete the transfer waits for
 * nb_receiver_confirm() if the client wants that. */
void nb_receiver_complete(netblt_connection *connection, size_t i, netblt_time now);
/* The client has stored everything (netblt_confirm): queues the withheld OK. */
void nb_receiver_confirm(netblt_connection *connection);
/* L was seen in buffer i: no buffer above it exists (AMB-30). */
void nb_receiver_end_at(netblt_connection *connection, size_t i);
void nb_receiver_out_of_memory(netblt_connection *connection);

#endif
