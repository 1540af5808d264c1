/* SPDX-License-Identifier: BSD-2-Clause */
/* Connection setup: OPEN, RESPONSE and REFUSED at both ends (RFC 998 5.1). */
#ifndef NETBLT_CORE_OPEN_H
#define NETBLT_CORE_OPEN_H

#include "connection/connection.h"

/* Connection setup (RFC 998 5.1; OPEN-01..12). */

/* A connection with its place in demux and deadlines, or NULL when memory is short. */
netblt_connection *nb_connection_new(netblt_endpoint *endpoint, const netblt_path *path, uint16_t local_port,
                                     uint16_t foreign_port);
/* Copies the callbacks of the program, which may have been compiled with another header (base/versioned.h). False if it
 * has none, if their size is wrong, or if the callback that `role` requires is missing. */
bool nb_client_read(const netblt_client *program, enum netblt_role role, netblt_client *client);
/* Whether an announced size is beyond what RFC 998 allows and `options`, which may be NULL, do not (DATA-14). */
bool nb_too_long(uint64_t transfer_size, const netblt_options *options);

/* Sends the first OPEN. */
void nb_open_start(netblt_connection *connection, netblt_time now);
/* The OPEN timer: the next OPEN, or the end of the attempt (OPEN-03). */
void nb_open_timeout(netblt_connection *connection, netblt_time now);
/* A RESPONSE on this port pair, with the right unique ID or another. */
void nb_open_on_response(netblt_connection *connection, const struct nb_packet *packet, netblt_time now);
/* An OPEN on this port pair, with the right unique ID or another. */
void nb_open_on_open(netblt_connection *connection, const struct nb_packet *packet, netblt_time now);
/* REFUSED, or ABORT while opening. */
void nb_open_on_refused(netblt_connection *connection, const struct nb_packet *packet, netblt_time now);
/* No RESPONSE has come to show that a REFUSED was forged (pending_end.h). */
void nb_open_believe_refusal(netblt_connection *connection);
/* Whether this is an OPEN for another connection on the port pair of one that only dallies. The peer may close and open
 * again as soon as it has its last acknowledgement (RFC 998 5.3.1), and the DONE or QUITACK in between may be lost:
 * such an OPEN means the same as DONE. A late copy of the OPEN of an earlier connection does not count; nor does any in
 * a guarded connection, whose peer chooses its ports at random: there it is forged. */
bool nb_open_replaces(const netblt_connection *connection, const struct nb_packet *packet, netblt_time now);
/* An OPEN for a port pair without a connection: asks the listener, answers RESPONSE or REFUSED. */
void nb_open_on_request(netblt_endpoint *endpoint, const netblt_path *path, const struct nb_packet *packet,
                        netblt_time now);
size_t nb_open_write(netblt_connection *connection, uint8_t *packet, netblt_time now);
size_t nb_open_write_response(netblt_connection *connection, uint8_t *packet, netblt_time now);

#endif
