/* SPDX-License-Identifier: BSD-2-Clause */
/* The tables of connections and listeners: which one a packet is for. */
#ifndef NETBLT_CORE_DEMUX_H
#define NETBLT_CORE_DEMUX_H

#include "base/keyed_hash.h"
#include "base/list.h"

#include <netblt/endpoint.h>
#include <stddef.h>

/* Which connection a packet belongs to (DEMUX-01): the pair of (address, port) ends, by hash; and which listener an
 * OPEN is for. */

struct nb_listener {
    struct nb_link link;
    uint16_t port;
    netblt_accept_fn *accept;
    void *context;
};

NB_LIST_OF(nb_listeners, struct nb_listener, link)

struct nb_demux {
    const netblt_allocator *allocator;
    struct nb_hash_key key;  /* from the endpoint's secret; must not change while there are connections */
    struct nb_list *buckets; /* of connections */
    size_t bucket_count;     /* a power of two, or 0 */
    size_t connections;
    struct nb_list listeners;
};

void nb_demux_free(struct nb_demux *demux);

netblt_connection *nb_demux_find(const struct nb_demux *demux, const netblt_path *path, uint16_t local_port,
                                 uint16_t foreign_port);
/* False when memory is short. The key must not be there yet. */
bool nb_demux_add(struct nb_demux *demux, netblt_connection *connection);
void nb_demux_remove(struct nb_demux *demux, netblt_connection *connection);
bool nb_demux_same_address(const netblt_address *a, const netblt_address *b);
/* Any connection, or NULL: to empty the table. */
netblt_connection *nb_demux_any(const struct nb_demux *demux);

struct nb_listener *nb_demux_listener(const struct nb_demux *demux, uint16_t port);
/* NETBLT_ERR_PORT_IN_USE, NETBLT_ERR_NO_MEMORY. */
int nb_demux_listen(struct nb_demux *demux, uint16_t port, netblt_accept_fn *accept, void *context);
void nb_demux_unlisten(struct nb_demux *demux, uint16_t port);

#endif
