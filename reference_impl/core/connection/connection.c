/* SPDX-License-Identifier: BSD-2-Clause */
/* What packets of a connection have in common, and the limit of its rate. */
#include "connection/connection.h"

struct nb_emitter nb_connection_emitter(const netblt_connection *connection)
{
    return (struct nb_emitter){connection->version, connection->local_port, connection->foreign_port};
}

/* No pair of burst size and interval means more than 65535 packets a millisecond. */
#define RATE_UNLIMITED 1e12

double nb_connection_rate_limit(const netblt_connection *connection)
{
    uint64_t bps = connection->options.rate_limit_bps;
    return bps == 0 ? RATE_UNLIMITED : (double)bps / 8 / connection->agreed.packet_size;
}
