/* SPDX-License-Identifier: BSD-2-Clause */
/* netblt send and recv: see session.h. */
#include "cli/session/session.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/transfer/parameters.h"
#include "io/clock.h"

/* ---- active: opening ----------------------------------------------------------------------------------------------
 */

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

/* What netblt listen at the remote end takes for the name of the file or directory, unless the user gives another:
 * nothing for several paths, and for what is stored under its own names. */
static void name_what_moves(const session *all, step_name *what)
{
    const options *given = all->given;
    const char *name = last_part(given->file);
    bool is_one = given->path_count == 1 && strcmp(given->file, "-") != 0;
    if (given->role == NETBLT_RECEIVER && all->files.to.kind == DEST_BENEATH)
        is_one = false;
    if (given->client_string != NULL)
        name = given->client_string;
    else if (!is_one || strlen(name) > STEP_NAME_MAX_BYTES || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        name = "";
    snprintf(what->name, sizeof what->name, "%s", name);
}

/* A text of the user that leaves no room for the later steps makes it a transfer of one file. */
static int write_name(step *one, netblt_params *params, netblt_failure *failure)
{
    if (step_name_write(&one->what, params->client_string))
        return 0;
    if (one->what.kind != STEP_FIRST || !one->all->files.is_one)
        return netblt_fail(failure, NETBLT_FAILURE_LOCAL,
                           "--client-string: several files or a directory leave room for %d bytes",
                           STEP_NAME_MAX_BYTES);
    one->work.offers_tree = false;
    snprintf(params->client_string, sizeof params->client_string, "%s", one->what.name);
    return 0;
}

/* What is announced beyond 4 GiB would be refused. */
static uint64_t announced_size(const session *all, const step *one)
{
    uint64_t size = session_files_size(&all->files);
    if (all->given->role != NETBLT_SENDER || one->what.kind != STEP_FIRST)
        return 0;
    return size > TRANSFER_MAX_BYTES && !all->given->beyond_4g ? 0 : size;
}

static int connect_step(session *all, step *one)
{
    const known_path *known = path_notes_for(all, one);
    netblt_params params;
    netblt_open_args args = {.role = one->work.role, .params = &params, .client = &all->client, .context = one};
    if (parameters_propose(all->given, &all->net, known, announced_size(all, one), &params, &all->failure) != 0 ||
        write_name(one, &params, &all->failure) != 0)
        return -1;
    args.options = transfer_options(&one->work);
    args.options.rate_is_known = parameters_are_known(&all->net, known, &params);
    return station_connect(&all->net, &args, &one->work.connection);
}

/* 0, or -1 with session.failure. */
static int open_next(session *all)
{
    step *one;
    if (all->next.kind == STEP_FIRST && all->files.tree != NULL &&
        session_files_refresh(&all->files, &all->failure) != 0)
        return -1;
    one = step_new(all, &all->next);
    if (one == NULL)
        return netblt_fail(&all->failure, NETBLT_FAILURE_LOCAL, "not enough memory");
    all->current = one;
    settle_keep(all, one);
    return connect_step(all, one);
}

static int start_active(session *all)
{
    name_what_moves(all, &all->next);
    if (all->given->path.measure && round_trip_measure(&all->net) != 0)
        return -1;
    return 0; /* session.next is opened in the first round */
}

static int start_passive(session *all)
{
    char wanted[40];
    snprintf(wanted, sizeof wanted, "a %s", all->given->role == NETBLT_RECEIVER ? "sender" : "receiver");
    only_place_init(all);
    return station_listen(&all->net, wanted, only_place_accept, all);
}

/* ---- what the core reports ------------------------------------------------------------------------------------------
 */

static void opened(void *context, netblt_connection *connection)
{
    step *one = context;
    transfer_client.opened(context, connection);
    if (!one->all->given->passive)
        step_begin(one);
}

static void release(void *context, netblt_connection *connection, uint64_t index, const uint8_t *data)
{
    transfer_client.release(context, connection, index, data);
    path_notes_buffer(context, connection);
}

static void deliver(void *context, netblt_connection *connection, uint64_t index, uint8_t *data, uint32_t length,
                    bool last)
{
    transfer_client.deliver(context, connection, index, data, length, last);
    path_notes_buffer(context, connection);
}

/* What the session looks at stays. */
static void closed(void *context, netblt_connection *connection)
{
    step *one = context;
    transfer_client.closed(context, connection);
    if (one->settled && one->all->last != one)
        step_free(one);
}

/* ---- time ---------------------------------------------------------------------------------------------------------
 */

/* Passive, between two steps, or after a loss. */
static void give_up_waiting(session *all)
{
    if (all->retry.lost_at == 0)
        netblt_fail(&all->failure, NETBLT_FAILURE_UNREACHABLE, "the peer did not go on with the transfer");
    all->over = true;
}

static int open_when_it_may(session *all)
{
    return windows_are_open(all) ? open_next(all) : windows_wait(all, &all->failure);
}

/* A transfer that can go on later ends with its window. */
static void end_with_window(step *one)
{
    const transfer *work = &one->work;
    bool can_go_on = !work->opened || transfer_is_tree(work);
    if (can_go_on && work->connection != NULL && !work->finished && !windows_are_open(one->all))
        netblt_abort(work->connection, STEP_LATER, netblt_clock_now());
}

static void look_at_time(session *all)
{
    netblt_time now = netblt_clock_now();
    if (all->over)
        return;
    if (all->current != NULL)
        end_with_window(all->current);
    else if (!all->given->passive)
        all->over = now >= all->retry.try_at && open_when_it_may(all) != 0;
    else if (all->last != NULL && now >= all->continued_until)
        give_up_waiting(all);
}

/* ---- rounds -------------------------------------------------------------------------------------------------------
 */

/* After a loss: time counts from the next one again. */
static void look_for_progress(session *all)
{
    netblt_info info;
    if (all->retry.lost_at == 0 || all->current == NULL || all->current->work.connection == NULL)
        return;
    netblt_get_info(all->current->work.connection, &info);
    if (info.stats.payload_bytes > 0)
        retry_moves(&all->retry);
}

static void tend(void *context)
{
    session *all = context;
    step *following;
    for (step *one = LIST_FIRST(&all->steps); one != NULL; one = following) {
        following = LIST_NEXT(one, entry);
        if (!one->settled)
            step_tend(one);
    }
    look_for_progress(all);
}

/* Earlier transfers are over for the peer, too, or it would not have continued. */
static bool has_connection(const session *all)
{
    return all->last != NULL && all->last->work.connection != NULL;
}

static netblt_time sooner(netblt_time a, netblt_time b)
{
    return a < b ? a : b;
}

static netblt_time next_look(const session *all)
{
    const step *one = all->current;
    bool moves = one != NULL && one->work.opened && !one->work.finished;
    if (one != NULL)
        return sooner(moves ? report_progress_next() : NETBLT_TIME_NEVER, windows_look_again(all));
    if (!all->given->passive)
        return all->retry.try_at;
    return all->last == NULL ? NETBLT_TIME_NEVER : all->continued_until;
}

/* Before a connection there is nothing to draw, so nothing to wake up for. */
static netblt_time next(void *context)
{
    session *all = context;
    if (all->current != NULL && step_is_settled(all->current))
        settle_current(all);
    look_at_time(all);
    if (all->over)
        return has_connection(all) ? NETBLT_TIME_NEVER : STATION_OVER;
    session_show_progress(all);
    return next_look(all);
}

/* Without a peer, or when all is done, there is nothing to ask. While opening it is over at once. */
static enum interruption interrupted(void *context, bool again)
{
    session *all = context;
    if (all->given->passive)
        only_place_settle(all);
    all->interrupted = true;
    if (all->current == NULL || !transfer_interrupt(&all->current->work, again))
        return INTERRUPTION_NOBODY;
    return all->current->work.finished ? INTERRUPTION_ENDS : INTERRUPTION_ASKED;
}

static enum station_stage stage(const void *context)
{
    const session *all = context;
    const transfer *work = all->current != NULL ? &all->current->work : NULL;
    if (work == NULL || work->finished || work->closed)
        return STAGE_OTHER;
    return work->opened ? STAGE_OPEN : all->given->passive ? STAGE_OTHER : STAGE_OPENING;
}

/* ---- the command --------------------------------------------------------------------------------------------------
 */

/* Before there is anything to end in an orderly way: a signal ends the process (signals_catch_early()). */
static bool wait_for_way(void *context, const netblt_failure *failure)
{
    session *all = context;
    netblt_time now = netblt_clock_now();
    if (!all->given->retry_s.given || !retry_wait(&all->retry, now))
        return false;
    settle_tell(all, failure->text);
    for (; now < all->retry.try_at; now = netblt_clock_now())
        usleep((useconds_t)(all->retry.try_at - now));
    return true;
}

static int open_files(void *context)
{
    session *all = context;
    if (windows_read(all, &all->failure) != 0 ||
        session_files_open(&all->files, all->given, all->net.wake_fd, &all->failure) != 0)
        return -1;
    all->net.reached = session_files_reached(&all->files);
    path_memory_open(&all->paths, all->given, &all->net.peer, &all->net.route.source);
    if (all->paths.directory >= 0)
        all->net.reached.notes = &all->paths.directory;
    return 0;
}

/* The network could not take us to the peer, and left. */
static bool goes_on_after_leaving(session *all)
{
    step *one = all->current;
    netblt_time now = netblt_clock_now();
    if (all->failure.kind != NETBLT_FAILURE_UNREACHABLE || all->interrupted || all->over || one == NULL ||
        !settle_try_again(all, now))
        return false;
    settle_tell(all, all->failure.text);
    if (one->work.connection != NULL)
        netblt_abort(one->work.connection, "unreachable", now);
    one->settled = true;
    all->current = NULL;
    all->failure = (netblt_failure){0};
    all->net.interrupts.leave = false;
    all->net.open_errors = 0;
    all->net.reported_error = 0;
    return true;
}

static void run(session *all)
{
    do
        station_run(&all->net);
    while (goes_on_after_leaving(all));
}

static void close_all(session *all)
{
    step *following;
    for (step *one = LIST_FIRST(&all->steps); one != NULL; one = following) {
        following = LIST_NEXT(one, entry);
        step_free(one);
    }
    session_files_close(&all->files);
    path_memory_close(&all->paths);
    schedule_free(&all->windows);
    station_close(&all->net);
}

enum exit_code command_session(const options *given)
{
    session all = {.given = given,
                   .client = transfer_client,
                   .retry = {.allowed_s = given->retry_s.value},
                   .paths = {.directory = -1},
                   .files = {.given = given, .to = {.directory = -1}}};
    const station_plan plan = {.open_files = open_files,
                               .interrupted = interrupted,
                               .stage = stage,
                               .wait_for_way = wait_for_way,
                               .tend = tend,
                               .next = next,
                               .peers = "the peer",
                               .failure = &all.failure,
                               .context = &all};
    enum exit_code code;
    all.client.opened = opened;
    all.client.closed = closed;
    all.client.release = release;
    all.client.deliver = deliver;
    if (station_open(&all.net, given, &plan) == 0 && (given->passive ? start_passive(&all) : start_active(&all)) == 0)
        run(&all);
    report_progress_clear();
    code = session_report(&all);
    close_all(&all);
    return code;
}
