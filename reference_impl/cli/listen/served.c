/* SPDX-License-Identifier: BSD-2-Clause */
/* One connection of `netblt listen`: the file that it sends or stores, and memory for its buffers. */
#include <unistd.h>

#include "cli/listen/serve.h"
#include "cli/listen/tree.h"
#include "cli/report/text.h"
#include "cli/transfer/parameters.h"

void served_mark(served *one)
{
    if (one->marked || one->validated) /* validated ones are looked at in each round */
        return;
    one->marked = true;
    SLIST_INSERT_HEAD(&one->server->marked, one, marked_place);
}

void served_describe(served *one)
{
    text_printable(one->step.name, one->printable, sizeof one->printable);
    netblt_address_text(&one->foreign, one->peer);
}

/* ---- sending ---------------------------------------------------------------------------------------------------- */

/* The file was only looked at when the OPEN came. What was appended since is not sent, as in source.c. */
bool served_open_source(served *one)
{
    netblt_failure *failure = &one->work.failure;
    const char *reason = NULL;
    source *from;
    int fd;
    served_describe(one);
    fd = tree_open_file(one->server->root, one->step.name, &reason);
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
    dir = tree_open_parent(server->root, one->step.name, server->given->force, &base, &reason);
    if (dir < 0)
        return reason;
    how = transfer_sink_how(&one->work, server->given->force);
    to = sink_open_at(dir, NULL, base, &how, one->printable, &failure);
    if (to == NULL)
        return "the server cannot write it";
    transfer_set_sink(&one->work, to);
    return NULL;
}

/* ---- memory -------------------------------------------------------------------------------------------------------
 */

void served_take_memory(served *one, netblt_params *limits)
{
    buffer_budget *all = &one->server->buffers;
    parameters_limit_first_buffer(all->unvalidated_first_bytes, limits);
    parameters_limit_memory(buffer_budget_share(all), limits);
    one->buffers.first_bytes = limits->buffer_size;
    one->buffers.promised_bytes = (uint64_t)limits->buffer_size * limits->max_buffers;
    one->buffers.beside_bytes = one->work.role == NETBLT_SENDER ? source_ahead_bytes(limits->buffer_size)
                                                                : sink_beside_bytes(limits->buffer_size);
    buffer_budget_promise(all, &one->buffers);
}
