/* SPDX-License-Identifier: BSD-2-Clause */
/* The core's client for the connections of `netblt listen`: that of one transfer, but files are opened late. */
#include "cli/listen/serve.h"

static enum netblt_send_buffer get_send_buffer(void *context, netblt_connection *connection, uint64_t index,
                                               uint32_t capacity, const uint8_t **data, uint32_t *length, bool *last)
{
    served *one = context;
    served_touch(one); /* whatever fails, it is found in the next round */
    if (one->work.failure.kind != NETBLT_FAILURE_NONE || (one->work.from == NULL && !served_open_source(one)))
        return NETBLT_SEND_BUFFER_WAIT;
    return transfer_client.get_send_buffer(context, connection, index, capacity, data, length, last);
}

static void validated(void *context, netblt_connection *connection)
{
    (void)connection;
    served_validated(context);
}

static void finished(void *context, netblt_connection *connection, const netblt_outcome *outcome)
{
    served *one = context;
    transfer_client.finished(context, connection, outcome);
    served_give_place_back(one);
    if (outcome->result != NETBLT_DONE) /* else when the file has its name */
        served_give_name_back(one);
}

static void closed(void *context, netblt_connection *connection)
{
    served *one = context;
    transfer_client.closed(context, connection);
    served_touch(one);
}

netblt_client serve_client(void)
{
    netblt_client client = transfer_client;
    client.get_send_buffer = get_send_buffer;
    client.validated = validated;
    client.finished = finished;
    client.closed = closed;
    return client;
}
