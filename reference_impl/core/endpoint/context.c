/* SPDX-License-Identifier: BSD-2-Clause */
/* Accessors of endpoints and connections: the application's pointers, and the endpoint of a connection. */
#include "connection/connection.h"
#include "connection/endpoint_state.h"

void *netblt_endpoint_get_context(const netblt_endpoint *endpoint)
{
    return endpoint->config.context;
}

void netblt_endpoint_set_context(netblt_endpoint *endpoint, void *context)
{
    endpoint->config.context = context;
}

void *netblt_connection_get_context(const netblt_connection *connection)
{
    return connection->context;
}

void netblt_connection_set_context(netblt_connection *connection, void *context)
{
    connection->context = context;
}

netblt_endpoint *netblt_connection_get_endpoint(const netblt_connection *connection)
{
    return connection->endpoint;
}
