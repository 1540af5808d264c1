/* SPDX-License-Identifier: BSD-2-Clause */
#include "connection/gone.h"

#include "connection/connection.h"
#include "connection/demux.h"

/* As long as a packet may wander about in a network: the two minutes of TCP's maximum segment lifetime. */
#define WANDERING_MAX_US UINT64_C(120000000)

void nb_gone_remember(struct nb_gone *gone, const netblt_connection *connection, netblt_time now)
{
    gone->connections[gone->next] = (struct nb_gone_connection){
        .path = connection->path,
        .local_port = connection->local_port,
        .foreign_port = connection->foreign_port,
        .unique_id = connection->unique_id,
        .until = now + WANDERING_MAX_US,
    };
    gone->next = (gone->next + 1) % NB_GONE_MAX;
}

bool nb_gone_knows(const struct nb_gone *gone, const netblt_path *path, uint16_t local_port, uint16_t foreign_port,
                   uint32_t unique_id, netblt_time now)
{
    for (unsigned i = 0; i < NB_GONE_MAX; i++) {
        const struct nb_gone_connection *at = &gone->connections[i];
        if (now < at->until && at->unique_id == unique_id && at->local_port == local_port &&
            at->foreign_port == foreign_port && nb_demux_same_address(&at->path.local, &path->local) &&
            nb_demux_same_address(&at->path.foreign, &path->foreign))
            return true;
    }
    return false;
}
