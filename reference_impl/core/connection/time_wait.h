/* SPDX-License-Identifier: BSD-2-Clause */
/* The time-wait table: recently closed connections that a peer had opened. */
#ifndef NETBLT_CORE_TIME_WAIT_H
#define NETBLT_CORE_TIME_WAIT_H

#include <netblt/endpoint.h>

/* A copy of an OPEN may arrive after its connection has closed. RFC 998 lets it open a second connection, which has no
 * peer and which the client would serve again (DEMUX-04: stale packets do no harm). For some time an OPEN with the same
 * ports, addresses and unique ID is therefore dropped. Connections whose peer was not validated (validation.h) are not
 * recorded: that peer may not have received our RESPONSE yet and repeats its OPEN. */

/* The newest connections only: the table takes a bounded amount of memory. */
enum { NB_TIME_WAIT_MAX = 64 };

struct nb_time_wait_entry {
    netblt_path path;
    uint16_t local_port;
    uint16_t foreign_port;
    uint32_t unique_id;
    netblt_time until; /* 0 = no entry */
};

struct nb_time_wait {
    struct nb_time_wait_entry connections[NB_TIME_WAIT_MAX];
    unsigned next; /* the oldest */
};

/* Records a connection that closes. */
void nb_time_wait_add(struct nb_time_wait *table, const netblt_connection *connection, netblt_time now);
/* Whether a connection with these values closed recently. */
bool nb_time_wait_has(const struct nb_time_wait *table, const netblt_path *path, uint16_t local_port,
                      uint16_t foreign_port, uint32_t unique_id, netblt_time now);

#endif
