/* SPDX-License-Identifier: BSD-2-Clause */
/* The log of an endpoint, and its list of marked connections. */
#include "connection/endpoint_state.h"

#include <stdarg.h>
#include <stdio.h>

void nb_log(const netblt_endpoint *endpoint, const char *format, ...)
{
    if (endpoint->config.log == NULL)
        return;
    char line[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    endpoint->config.log(endpoint->config.log_context, line);
}

void nb_mark(netblt_connection *connection)
{
    if (!nb_link_is_listed(&connection->marked))
        nb_marked_append(&connection->endpoint->marked, connection);
}
