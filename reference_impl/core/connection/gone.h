/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NETBLT_CORE_GONE_H
#define NETBLT_CORE_GONE_H

#include <netblt/endpoint.h>

/* Connections that a peer opened and that are over: a copy of their OPEN may still be on its way. RFC 998 would have it
 * open a second connection, for which nobody is there, and which the client would serve once more (DEMUX-04: stale
 * packets do no harm). So an OPEN with the same ports, addresses and unique ID begins nothing for a while. Only peers
 * that have proven themselves (proof.h) are remembered: the others may not have seen our RESPONSE yet, and repeat their
 * OPEN in earnest. */

/* The newest ones; a bounded memory of a cheap precaution. */
enum { NB_GONE_MAX = 64 };

struct nb_gone_connection {
    netblt_path path;
    uint16_t local_port;
    uint16_t foreign_port;
    uint32_t unique_id;
    netblt_time until; /* 0 = no entry */
};

struct nb_gone {
    struct nb_gone_connection connections[NB_GONE_MAX];
    unsigned next; /* the oldest */
};

void nb_gone_remember(struct nb_gone *gone, const netblt_connection *connection, netblt_time now);
bool nb_gone_knows(const struct nb_gone *gone, const netblt_path *path, uint16_t local_port, uint16_t foreign_port,
                   uint32_t unique_id, netblt_time now);

#endif
