/* SPDX-License-Identifier: BSD-2-Clause */
/* netblt listen: sets up, runs all transfers in rounds, and ends. */
#include "cli/listen/serve.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "cli/report/report.h"
#include "cli/store/place.h"
#include "cli/tree/tree_store.h"
#include "io/clock.h"

/* ---- the core's client --------------------------------------------------------------------------------------------
 */

static enum netblt_send_buffer get_send_buffer(void *context, netblt_connection *connection, uint64_t index,
                                               uint32_t capacity, const uint8_t **data, uint32_t *length, bool *last)
{
    served *one = context;
    served_mark(one); /* whatever fails, it is found in the next round */
    if (one->work.failure.kind != NETBLT_FAILURE_NONE)
        return NETBLT_SEND_BUFFER_WAIT;
    if (one->work.from == NULL && (served_is_step(one) || !served_open_source(one)))
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
    served_note_end(one);
    if (served_is_step(one) ? served_needs_no_name(one) : outcome->result != NETBLT_DONE)
        served_give_name_back(one); /* else when everything has its name, and the disk is done with it */
}

static void closed(void *context, netblt_connection *connection)
{
    served *one = context;
    transfer_client.closed(context, connection);
    served_mark(one);
}

/* That of one transfer, but files are opened when they are needed. */
static netblt_client make_client(void)
{
    netblt_client client = transfer_client;
    client.get_send_buffer = get_send_buffer;
    client.validated = validated;
    client.finished = finished;
    client.closed = closed;
    return client;
}

/* ---- connections ------------------------------------------------------------------------------------------------ */

static void free_all(served_list *list)
{
    served *next;
    for (served *one = LIST_FIRST(list); one != NULL; one = next) {
        next = LIST_NEXT(one, place);
        served_free(one);
    }
}

/* ---- rounds ----------------------------------------------------------------------------------------------------- */

static void tend_unvalidated(served *one)
{
    transfer *work = &one->work;
    if (work->from != NULL)
        transfer_tend(work);
    if (work->failure.kind != NETBLT_FAILURE_NONE && work->connection != NULL && !work->finished)
        netblt_abort(work->connection, "cannot read the data", netblt_clock_now());
    if (!work->closed || one->marked) /* marked by this: looked at next */
        return;
    serve_report(one->server, one);
    served_free(one);
}

static void tend_marked(serve *server)
{
    while (!SLIST_EMPTY(&server->marked)) {
        served *one = SLIST_FIRST(&server->marked);
        SLIST_REMOVE_HEAD(&server->marked, marked_place);
        one->marked = false;
        if (!one->validated)
            tend_unvalidated(one);
    }
}

/* A file is opened when the first buffer is wanted. What its peer waits for then never comes. */
static bool failed_to_open(const transfer *work)
{
    return work->failure.kind != NETBLT_FAILURE_NONE && work->to == NULL &&
           (work->from == NULL || source_failure(work->from) == NULL);
}

static void tend_one(transfer *work)
{
    if (work->from != NULL || work->to != NULL)
        transfer_tend(work);
    if (failed_to_open(work) && work->connection != NULL && !work->finished)
        netblt_abort(work->connection, "cannot read the data", netblt_clock_now());
}

static void tend_validated(serve *server)
{
    served *next;
    for (served *one = LIST_FIRST(&server->validated); one != NULL; one = next) {
        next = LIST_NEXT(one, place);
        tend_one(&one->work);
        served_follow_step(one);
        served_settle(one);
        if (transfer_is_over(&one->work))
            served_end(one);
    }
}

static void tend(void *context)
{
    serve *server = context;
    jobs_tend(&server->work);
    tend_marked(server);
    tend_validated(server);
}

/* Unvalidated peers may not exist: they are not waited for. Nothing new begins. */
static enum interruption interrupted(void *context, bool again)
{
    serve *server = context;
    served *one;
    LIST_FOREACH(one, &server->unvalidated, place)
        (void)transfer_interrupt(&one->work, true);
    LIST_FOREACH(one, &server->validated, place)
        (void)transfer_interrupt(&one->work, again);
    return !LIST_EMPTY(&server->validated) ? INTERRUPTION_ASKED : INTERRUPTION_ENDS;
}

static netblt_time next(void *context)
{
    serve *server = context;
    netblt_time now = netblt_clock_now();
    netblt_time progress_at = serve_watch_progress(server, now);
    netblt_time rest_at = serve_report_rest(server, now);
    netblt_time objects_at = serve_report_progress(server, now);
    netblt_time first_at = progress_at < rest_at ? progress_at : rest_at;
    if (server->net.interrupts.count > 0 && LIST_EMPTY(&server->validated) && LIST_EMPTY(&server->unvalidated))
        return STATION_OVER;
    return first_at < objects_at ? first_at : objects_at;
}

/* ---- setting up ------------------------------------------------------------------------------------------------- */

/* A validated peer takes so many descriptors at most, any other peer that reads a file takes one; besides these,
 * sockets and what the libraries open. Where the system allows fewer, some are refused. */
#define UNVALIDATED_FILES 1024
#define OTHER_FILES 64
#define FILES_PER_TRANSFER 8

static void allow_open_files(const options *given)
{
    rlim_t wanted = UNVALIDATED_FILES + OTHER_FILES + FILES_PER_TRANSFER * given->max_connections.value;
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted)
        return;
    limit.rlim_cur = wanted < limit.rlim_max ? wanted : limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

/* Each buffer goes back to the system when its transfer ends. glibc would otherwise raise its threshold for mappings to
 * the size of our buffers, and forged OPENs without end would leave a heap of holes that grows for hours. */
static void keep_no_free_buffers(void)
{
    enum { MAPPED_FROM_BYTES = 128 * 1024 };
    mallopt(M_MMAP_THRESHOLD, MAPPED_FROM_BYTES);
}

/* Manifests and held lists of all peers. Held lists that wait for the next step are a part of it that is set aside, of
 * which one host has a quarter. */
#define LISTS_BYTES (UINT64_C(1) << 30)
#define HELD_LISTS_BYTES (UINT64_C(64) << 20)
#define HELD_LISTS_SHARE 4

static int open_root(void *context)
{
    serve *server = context;
    server->root = open(server->given->root, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (server->root < 0)
        return netblt_fail(&server->failure, NETBLT_FAILURE_LOCAL, "--root %s: %s", server->given->root,
                           strerror(errno));
    if (!server->given->read_only)
        place_remove_stale(server->root);
    server->net.reached = (sandbox_files){.fds = &server->root, .count = 1, .writable = !server->given->read_only};
    return 0;
}

/* Jobs wake the event loop, which is there only now. */
static bool begin_jobs(serve *server)
{
    server->work.wake_fd = server->net.wake_fd;
    return true;
}

enum exit_code command_serve(const options *given)
{
    serve server = {.given = given, .root = -1, .client = make_client(), .lists.most_bytes = LISTS_BYTES};
    const station_plan plan = {.open_files = open_root,
                               .interrupted = interrupted,
                               .tend = tend,
                               .next = next,
                               .peers = "all peers",
                               .failure = &server.failure,
                               .context = &server};
    enum exit_code code = EXIT_CODE_INTERRUPTED; /* nothing else ends a server that could begin */
    allow_open_files(given);
    keep_no_free_buffers();
    jobs_init(&server.work, -1);
    reservations_init(&server.reserved);
    held_cache_init(&server.held_lists, HELD_LISTS_BYTES, HELD_LISTS_BYTES / HELD_LISTS_SHARE);
    tree_store_prepare(); /* stores are opened when the process is confined */
    if (station_open(&server.net, given, &plan) == 0 && begin_jobs(&server) &&
        station_listen(&server.net, "transfers", serve_accept, &server) == 0)
        station_run(&server.net);
    if (server.failure.kind != NETBLT_FAILURE_NONE)
        code = transfer_report_failure(given, &server.failure);
    free_all(&server.unvalidated);
    free_all(&server.validated);
    jobs_clear(&server.work);
    station_close(&server.net); /* the threads of the transfers wake it */
    tally_clear(&server.held);
    name_locks_clear(&server.names);
    reservations_clear(&server.reserved);
    held_cache_clear(&server.held_lists);
    if (server.root >= 0)
        close(server.root);
    return code;
}
