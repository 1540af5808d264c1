/* SPDX-License-Identifier: BSD-2-Clause */
/* The time-wait table of recently closed connections. */
#include "connection/time_wait.h"

#include "connection/connection.h"
#include "connection/demux.h"

/* The longest time for which a packet stays in a network: TCP's maximum segment lifetime of two minutes. */
#define SEGMENT_LIFETIME_US UINT64_C(120000000)

void nb_time_wait_add(struct nb_time_wait *table, const netblt_connection *connection, netblt_time now)
{
    table->connections[table->next] = (struct nb_time_wait_entry){
        .path = connection->path,
        .local_port = connection->local_port,
        .foreign_port = connection->foreign_port,
        .unique_id = connection->unique_id,
        .until = now + SEGMENT_LIFETIME_US,
    };
    table->next = (table->next + 1) % NB_TIME_WAIT_MAX;
}

bool nb_time_wait_has(const struct nb_time_wait *table, const netblt_path *path, uint16_t local_port,
                      uint16_t foreign_port, uint32_t unique_id, netblt_time now)
{
    for (unsigned i = 0; i < NB_TIME_WAIT_MAX; i++) {
        const struct nb_time_wait_entry *at = &table->connections[i];
        if (now < at->until && at->unique_id == unique_id && at->local_port == local_port &&
            at->foreign_port == foreign_port && nb_demux_same_address(&at->path.local, &path->local) &&
            nb_demux_same_address(&at->path.foreign, &path->foreign))
            return true;
    }
    return false;
}
