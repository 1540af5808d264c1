/* SPDX-License-Identifier: BSD-2-Clause */
/* The tables of connections and listeners: which one a packet is for. */
#include "connection/demux.h"

#include "base/allocator.h"
#include "connection/connection.h"

#include <string.h>

#define FIRST_BUCKETS 64

NB_LIST_OF(nb_bucket, netblt_connection, in_bucket)

/* Keyed: peers choose ports, and with UDP addresses too, and could make all connections share a bucket. */
static size_t bucket_of(const struct nb_demux *demux, const netblt_path *path, uint16_t local_port,
                        uint16_t foreign_port)
{
    uint8_t bytes[4 + 2 * NETBLT_ADDRESS_MAX_BYTES] = {(uint8_t)(local_port >> 8), (uint8_t)local_port,
                                                       (uint8_t)(foreign_port >> 8), (uint8_t)foreign_port};
    size_t length = 4;
    memcpy(bytes + length, path->local.bytes, path->local.length);
    length += path->local.length;
    memcpy(bytes + length, path->foreign.bytes, path->foreign.length);
    length += path->foreign.length;
    return (size_t)nb_keyed_hash(&demux->key, bytes, length) & (demux->bucket_count - 1);
}

bool nb_demux_same_address(const netblt_address *a, const netblt_address *b)
{
    return a->length == b->length && memcmp(a->bytes, b->bytes, a->length) == 0;
}

void nb_demux_free(struct nb_demux *demux)
{
    struct nb_listener *listener;
    while ((listener = nb_listeners_take(&demux->listeners)) != NULL)
        nb_release(demux->allocator, listener);
    nb_release(demux->allocator, demux->buckets);
    *demux = (struct nb_demux){.allocator = demux->allocator};
}

netblt_connection *nb_demux_find(const struct nb_demux *demux, const netblt_path *path, uint16_t local_port,
                                 uint16_t foreign_port)
{
    if (demux->bucket_count == 0)
        return NULL;
    const struct nb_list *bucket = &demux->buckets[bucket_of(demux, path, local_port, foreign_port)];
    for (netblt_connection *at = nb_bucket_first(bucket); at != NULL; at = nb_bucket_next(at))
        if (at->local_port == local_port && at->foreign_port == foreign_port &&
            nb_demux_same_address(&at->path.local, &path->local) &&
            nb_demux_same_address(&at->path.foreign, &path->foreign))
            return at;
    return NULL;
}

static void insert(struct nb_demux *demux, netblt_connection *connection)
{
    size_t bucket = bucket_of(demux, &connection->path, connection->local_port, connection->foreign_port);
    nb_bucket_append(&demux->buckets[bucket], connection);
}

static bool grow(struct nb_demux *demux)
{
    struct nb_demux bigger = *demux;
    bigger.bucket_count = demux->bucket_count == 0 ? FIRST_BUCKETS : demux->bucket_count * 2;
    bigger.buckets = nb_allocate_zeroed(demux->allocator, bigger.bucket_count * sizeof *bigger.buckets);
    if (bigger.buckets == NULL)
        return false;
    for (size_t i = 0; i < demux->bucket_count; i++) {
        netblt_connection *connection;
        while ((connection = nb_bucket_take(&demux->buckets[i])) != NULL)
            insert(&bigger, connection);
    }
    nb_release(demux->allocator, demux->buckets);
    *demux = bigger;
    return true;
}

bool nb_demux_add(struct nb_demux *demux, netblt_connection *connection)
{
    if (demux->connections >= demux->bucket_count && !grow(demux))
        return false;
    insert(demux, connection);
    demux->connections++;
    return true;
}

void nb_demux_remove(struct nb_demux *demux, netblt_connection *connection)
{
    nb_bucket_remove(connection);
    demux->connections--;
}

netblt_connection *nb_demux_any(const struct nb_demux *demux)
{
    for (size_t i = 0; demux->connections > 0 && i < demux->bucket_count; i++)
        if (!nb_list_is_empty(&demux->buckets[i]))
            return nb_bucket_first(&demux->buckets[i]);
    return NULL;
}

struct nb_listener *nb_demux_listener(const struct nb_demux *demux, uint16_t port)
{
    for (struct nb_listener *at = nb_listeners_first(&demux->listeners); at != NULL; at = nb_listeners_next(at))
        if (at->port == port)
            return at;
    return NULL;
}

int nb_demux_listen(struct nb_demux *demux, uint16_t port, netblt_accept_fn *accept, void *context)
{
    if (nb_demux_listener(demux, port) != NULL)
        return NETBLT_ERR_PORT_IN_USE;
    struct nb_listener *listener = nb_allocate(demux->allocator, sizeof *listener);
    if (listener == NULL)
        return NETBLT_ERR_NO_MEMORY;
    *listener = (struct nb_listener){.port = port, .accept = accept, .context = context};
    nb_listeners_append(&demux->listeners, listener);
    return 0;
}

void nb_demux_unlisten(struct nb_demux *demux, uint16_t port)
{
    struct nb_listener *listener = nb_demux_listener(demux, port);
    if (listener == NULL)
        return;
    nb_listeners_remove(listener);
    nb_release(demux->allocator, listener);
}
