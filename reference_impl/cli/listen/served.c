/* SPDX-License-Identifier: BSD-2-Clause */
/* One connection of `netblt listen`, and the file that it sends or stores. */
#include <unistd.h>

#include "cli/listen/serve.h"
#include "cli/listen/tree.h"
#include "cli/report/text.h"

void served_touch(served *one)
{
    if (one->touched || one->validated) /* validated ones are looked at in each round */
        return;
    one->touched = true;
    SLIST_INSERT_HEAD(&one->server->touched, one, touched_place);
}

void served_describe(served *one)
{
    text_printable(one->name, one->printable, sizeof one->printable);
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
