/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/parameters.h"
#include "cli/prefixes.h"
#include "cli/serve.h"
#include "cli/text.h"
#include "cli/tree.h"
#include "io/clock.h"

/* Buffers of all transfers together. A new one may have a quarter of what is left, so that there is always some left
 * for the next, and never less than keeps a local network busy. */
#define MEMORY_BYTES (UINT64_C(1) << 30)
#define MEMORY_SHARE 4
#define MEMORY_LEAST_BYTES (UINT64_C(1) << 20)

void served_free(served *one)
{
    source_close(one->work.from);
    sink_close(one->work.to);
    free(one);
}

static uint64_t memory_left(const serve *server)
{
    uint64_t used = 0;
    uint64_t share;

    for (const served *one = server->all; one != NULL; one = one->next)
        used += one->memory_bytes;
    share = used < MEMORY_BYTES ? (MEMORY_BYTES - used) / MEMORY_SHARE : 0;
    return share < MEMORY_LEAST_BYTES ? MEMORY_LEAST_BYTES : share;
}

static uint64_t count_unfinished(const serve *server)
{
    uint64_t count = 0;

    for (const served *one = server->all; one != NULL; one = one->next)
        count += !one->work.finished;
    return count;
}

/* ---- files ------------------------------------------------------------------------------------------------------ */

/* Each answers NULL, or why not, as briefly as tree.c. */

static const char *open_to_send(serve *server, served *one)
{
    const char *reason = NULL;
    netblt_failure failure;
    int fd = tree_open_file(server->root, one->name, &reason);

    if (fd < 0)
        return reason;
    one->work.from = source_adopt(fd, one->printable, server->given->beyond_4g, &failure);
    return one->work.from == NULL ? "over 4 GiB, or unreadable" : NULL;
}

static const char *base_of(const char *name)
{
    const char *slash = strrchr(name, '/');

    return slash == NULL ? name : slash + 1;
}

static bool is_being_stored(const serve *server, const served *wanted)
{
    for (const served *one = server->all; one != NULL; one = one->next)
        if (one->work.to != NULL && !(one->work.finished && one->work.committed) && !one->work.closed &&
            one->dir_device == wanted->dir_device && one->dir_inode == wanted->dir_inode &&
            strcmp(base_of(one->name), base_of(wanted->name)) == 0)
            return true;
    return false;
}

static const char *open_to_store(serve *server, served *one)
{
    const char *reason = NULL;
    const char *base;
    netblt_failure failure;
    struct stat status;
    sink_how how;
    int dir;

    if (server->given->read_only)
        return "only gives files away";
    dir = tree_open_parent(server->root, one->name, server->given->force, &base, &reason);
    if (dir < 0)
        return reason;
    if (fstat(dir, &status) == 0) {
        one->dir_device = status.st_dev;
        one->dir_inode = status.st_ino;
    }
    if (is_being_stored(server, one)) {
        close(dir);
        return "somebody is just storing it";
    }
    how = transfer_sink_how(&one->work, server->given->force);
    one->work.to = sink_open_at(dir, base, &how, one->printable, &failure);
    return one->work.to == NULL ? "the server cannot write it" : NULL;
}

/* ---- places ----------------------------------------------------------------------------------------------------- */

/* An OPEN costs whoever forges it one packet, and would hold a place for a whole death timer: of the peers that have
 * not shown yet that packets reach them, the one that has had its place for longest gives way. An honest peer shows it
 * within a round trip. False when all places are taken by others. */
static bool make_room(const serve *server)
{
    served *oldest = NULL;
    netblt_info info;

    for (served *one = server->all; one != NULL; one = one->next) { /* the newest first */
        if (one->work.connection == NULL || one->work.finished)
            continue;
        netblt_get_info(one->work.connection, &info);
        if (info.unvalidated)
            oldest = one;
    }
    if (oldest == NULL)
        return false;
    oldest->gave_way = true;
    return netblt_abort(oldest->work.connection, "no word from you: others wait", netblt_clock_now()) == 0;
}

static bool has_room(const serve *server)
{
    return count_unfinished(server) < options_number_or(server->given->max_connections, MAX_CONNECTIONS_DEFAULT) ||
           make_room(server);
}

/* ---- the answer ------------------------------------------------------------------------------------------------- */

static const char *find_objection(serve *server, served *one, const netblt_request *request)
{
    const char *objection;

    if (server->interrupted > 0)
        return "shutting down";
    if (!prefixes_allow(server->given, &request->path.foreign))
        return "does not serve your address";
    objection = tree_check_name(one->name);
    if (objection != NULL)
        return objection;
    if (!has_room(server))
        return "too many transfers: later";
    return one->work.role == NETBLT_SENDER ? open_to_send(server, one) : open_to_store(server, one);
}

static void describe(serve *server, served *one, const netblt_request *request)
{
    snprintf(one->name, sizeof one->name, "%s", request->proposed.client_string);
    text_printable(one->name, one->printable, sizeof one->printable);
    netblt_address_text(&request->path.foreign, one->peer);
    one->work = (transfer){.net = &server->net,
                           .role = request->role,
                           .name = one->printable,
                           .peer = one->peer,
                           .started_at = netblt_clock_now()};
}

static void promise(serve *server, served *one, const netblt_request *request, netblt_answer *answer)
{
    uint64_t size = one->work.from == NULL ? 0 : source_size(one->work.from);

    parameters_limit(server->given, one->work.role, &request->path, size, &answer->limits);
    parameters_limit_memory(memory_left(server), &answer->limits);
    one->memory_bytes = (uint64_t)answer->limits.buffer_size * answer->limits.max_buffers;
    answer->accept = true;
    answer->client = &transfer_client;
    answer->context = &one->work;
    answer->options = transfer_options(&one->work);
    one->next = server->all;
    server->all = one;
}

void serve_accept(void *context, const netblt_request *request, netblt_answer *answer)
{
    serve *server = context;
    served *one = calloc(1, sizeof *one);
    const char *objection = "not enough memory";

    if (one != NULL) {
        describe(server, one, request);
        objection = find_objection(server, one, request);
    }
    if (objection == NULL) {
        promise(server, one, request, answer);
        return;
    }
    answer->accept = false;
    snprintf(answer->reason, sizeof answer->reason, "%s", objection);
    if (one != NULL) {
        serve_report_refusal(server, one, request->role, objection);
        served_free(one);
    }
}
