/* SPDX-License-Identifier: BSD-2-Clause */
/* The core's client for the connections of `netblt listen`: that of one transfer, but files are opened late. */
#include <sys/stat.h>
#include <unistd.h>

#include "cli/listen/serve.h"
#include "cli/listen/tree.h"
#include "io/clock.h"

/* ---- sending ---------------------------------------------------------------------------------------------------- */

/* The file was only looked at when the OPEN came. What was appended since is not sent, as in source.c. */
static bool open_source(served *one)
{
    netblt_failure *failure = &one->work.failure;
    const char *reason = NULL;
    source *from;
    int fd;

    served_describe(one);
    fd = tree_open_file(one->server->root, one->name, &reason);
    if (fd < 0) {
        netblt_fail(failure, NETBLT_FAILURE_LOCAL, "cannot read %s: %s", one->printable, reason);
        return false;
    }
    from = source_adopt(fd, one->printable, one->server->given->beyond_4g, failure);
    if (from == NULL)
        return false;
    transfer_set_source(&one->work, from);
    if (source_cut(from, one->size))
        return true;
    netblt_fail(failure, NETBLT_FAILURE_LOCAL, "%s became shorter before it was sent", one->printable);
    return false;
}

static enum netblt_send_buffer get_send_buffer(void *context, netblt_connection *connection, uint64_t index,
                                               uint32_t capacity, const uint8_t **data, uint32_t *length, bool *last)
{
    served *one = context;

    served_touch(one); /* whatever fails, it is found in the next round */
    if (one->work.failure.kind != NETBLT_FAILURE_NONE || (one->work.from == NULL && !open_source(one)))
        return NETBLT_SEND_BUFFER_WAIT;
    return transfer_client.get_send_buffer(context, connection, index, capacity, data, length, last);
}

/* ---- receiving -------------------------------------------------------------------------------------------------- */

const char *served_open_sink(served *one)
{
    serve *server = one->server;
    const char *reason = NULL;
    const char *base;
    netblt_failure failure;
    sink_how how;
    sink *to;
    int dir;

    served_describe(one);
    dir = tree_open_parent(server->root, one->name, server->given->force, &base, &reason);
    if (dir < 0)
        return reason;
    how = transfer_sink_how(&one->work, server->given->force);
    to = sink_open_at(dir, NULL, base, &how, one->printable, &failure);
    if (to == NULL)
        return "the server cannot write it";
    transfer_set_sink(&one->work, to);
    return NULL;
}

/* ---- the life of a connection ----------------------------------------------------------------------------------- */

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
