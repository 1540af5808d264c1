/* SPDX-License-Identifier: BSD-2-Clause */
/* The core's client in a transfer: hands it buffers to send, takes those that arrived, and records events. */
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>

#include "cli/transfer/announced.h"
#include "cli/transfer/reasons.h"
#include "cli/transfer/transfer.h"
#include "io/clock.h"

/* ---- callbacks of the core --------------------------------------------------------------------------------------- */

static enum netblt_send_buffer get_send_buffer(void *context, netblt_connection *connection, uint64_t index,
                                               uint32_t capacity, const uint8_t **data, uint32_t *length, bool *last)
{
    transfer *work = context;
    enum netblt_send_buffer answer;
    (void)connection;
    (void)index;            /* always the next one */
    if (work->from == NULL) /* about to be aborted */
        return NETBLT_SEND_BUFFER_WAIT;
    answer = source_supply(work->from, capacity, data, length, last);
    work->source_waits = answer == NETBLT_SEND_BUFFER_WAIT;
    return answer;
}

static void release(void *context, netblt_connection *connection, uint64_t index, const uint8_t *data)
{
    transfer *work = context;
    (void)connection;
    (void)index;
    source_release(work->from, data);
}

static size_t most_buffers(const transfer *work, const netblt_info *info)
{
    bool holds_back = work->holds_back != NULL && work->holds_back(work);
    return holds_back ? 1 : info->negotiated.max_buffers;
}

static uint8_t *get_receive_buffer(void *context, netblt_connection *connection, uint64_t index, uint32_t capacity)
{
    transfer *work = context;
    netblt_info info;
    uint8_t *memory;
    netblt_get_info(connection, &info);
    if (!announced_wants(info.negotiated.transfer_size, index, capacity, work->lent))
        return NULL; /* the core asks again with each buffer that is complete */
    if (work->to == NULL) {
        work->early_bytes = capacity;
        memory = buffer_pool_take(&work->early, capacity);
    } else {
        memory = sink_provide(work->to, capacity, most_buffers(work, &info));
        work->sink_waits = memory == NULL;
    }
    work->lent += memory != NULL;
    return memory;
}

/* A foreign sender may round the Length of its last packet up to a multiple of four (AMB-02, form c). Nothing in the
 * packet shows it; an announced transfer size that at most three zero bytes overrun does. */
static uint32_t without_padding(const netblt_info *info, uint64_t index, const uint8_t *data, uint32_t length)
{
    const netblt_params *params = &info->negotiated;
    uint64_t total = index * params->buffer_size + length;
    uint32_t last_packet_bytes = length % params->packet_size;
    uint32_t excess;
    if (params->transfer_size == 0 || total <= params->transfer_size || total - params->transfer_size > 3)
        return length;
    excess = (uint32_t)(total - params->transfer_size);
    if (last_packet_bytes == 0)
        last_packet_bytes = params->packet_size;
    if (last_packet_bytes % 4 != 0 || last_packet_bytes <= excess)
        return length;
    for (uint32_t i = 1; i <= excess; i++)
        if (data[length - i] != 0)
            return length;
    return length - excess;
}

static void deliver(void *context, netblt_connection *connection, uint64_t index, uint8_t *data, uint32_t length,
                    bool last)
{
    transfer *work = context;
    netblt_info info;
    work->lent--;
    netblt_get_info(connection, &info);
    sink_deliver(work->to, index, data,
                 last && info.client_features == 0 ? without_padding(&info, index, data, length) : length);
}

static void discard(void *context, netblt_connection *connection, uint64_t index, uint8_t *data)
{
    transfer *work = context;
    (void)connection;
    (void)index;
    work->lent--;
    if (work->to == NULL)
        buffer_pool_give_back(&work->early, data);
    else
        sink_discard(work->to, data);
}

static void complete(void *context, netblt_connection *connection)
{
    transfer *work = context;
    (void)connection;
    work->complete = true;
}

void transfer_set_source(transfer *work, source *from)
{
    work->from = from;
    source_end_in_digest(from, transfer_ends_in_hash(work));
}

void transfer_set_sink(transfer *work, sink *to)
{
    work->to = to;
    sink_expect_digest(to, transfer_ends_in_hash(work));
    if (work->early_bytes != 0)
        sink_adopt(to, &work->early, work->early_bytes);
}

static void opened(void *context, netblt_connection *connection)
{
    transfer *work = context;
    work->connection = connection;
    work->opened = true;
    netblt_get_info(connection, &work->info);
    if (work->from != NULL)
        transfer_set_source(work, work->from);
    if (work->to != NULL)
        transfer_set_sink(work, work->to);
}

static void finished(void *context, netblt_connection *connection, const netblt_outcome *outcome)
{
    transfer *work = context;
    work->connection = connection;
    work->finished = true;
    work->finished_at = netblt_clock_now();
    work->outcome = outcome->result;
    snprintf(work->reason, sizeof work->reason, "%s", outcome->reason);
    netblt_get_info(connection, &work->info);
}

static void closed(void *context, netblt_connection *connection)
{
    transfer *work = context;
    (void)connection;
    work->connection = NULL;
    work->closed = true;
}

const netblt_client transfer_client = {
    .size = sizeof(netblt_client),
    .get_send_buffer = get_send_buffer,
    .release = release,
    .get_receive_buffer = get_receive_buffer,
    .deliver = deliver,
    .discard = discard,
    .complete = complete,
    .opened = opened,
    .finished = finished,
    .closed = closed,
};

/* A file that is opened late takes buffers in any order. */
static bool takes_any_order(const transfer *work)
{
    return work->role == NETBLT_RECEIVER && !work->in_order && (work->to == NULL || sink_takes_any_order(work->to));
}

netblt_options transfer_options(const transfer *work)
{
    netblt_options how = station_connection_options(work->net, takes_any_order(work));
    how.confirm_end = work->role == NETBLT_RECEIVER;
    how.client_features = NETBLT_CLIENT_ENDS_IN_HASH;
    if (work->offers_tree)
        how.client_features |= NETBLT_CLIENT_TREE;
    return how;
}

sink_how transfer_sink_how(const transfer *work, bool replace)
{
    return (sink_how){.replace = replace, .sync = work->net->given->sync == SYNC_ALWAYS, .wake_fd = work->net->wake_fd};
}

/* ---- in each round ----------------------------------------------------------------------------------------------- */

/* The source has bytes: the core may ask again. */
static void source_ready(void *context, uint32_t events)
{
    transfer *work = context;
    (void)events;
    netblt_loop_unwatch(work->net->loop, source_fd(work->from));
    if (work->connection != NULL && !work->finished)
        netblt_resume(work->connection, netblt_clock_now());
}

static void tend_source(transfer *work)
{
    if (work->source_waits && !work->finished && source_failure(work->from) == NULL) {
        work->source_waits =
            netblt_loop_watch(work->net->loop, source_fd(work->from), EPOLLIN, source_ready, work) != 0;
    }
}

void transfer_close_source(transfer *work)
{
    if (work->from != NULL)
        netblt_loop_unwatch(work->net->loop, source_fd(work->from));
    source_close(work->from);
    work->from = NULL;
}

/* What was written makes room for more. */
static void ask_for_more(transfer *work)
{
    netblt_info info;
    if (!work->sink_waits || work->finished || work->connection == NULL)
        return;
    netblt_get_info(work->connection, &info);
    if (!sink_has_room(work->to, most_buffers(work, &info)))
        return;
    work->sink_waits = false;
    netblt_resume(work->connection, netblt_clock_now());
}

/* The sender learns of success only when everything is stored. */
static void store(transfer *work)
{
    work->committed = sink_commit(work->to);
    if (!work->committed)
        return;
    if (work->approve != NULL && !work->approve(work))
        netblt_abort(work->connection, work->failure.text, netblt_clock_now());
    else
        netblt_confirm(work->connection, netblt_clock_now());
}

static void tend_sink(transfer *work)
{
    sink_collect(work->to);
    ask_for_more(work);
    if (work->finished && work->outcome != NETBLT_DONE)
        sink_abandon(work->to);
    else if (work->complete && !work->finished && !work->committed && work->connection != NULL)
        store(work);
}

/* A sink's failure aborts: the peer must not take for stored what is not. A source's failure quits, after what was
 * begun. The peer learns what happened, and nothing of this host. */
static void give_up(transfer *work, const netblt_failure *failure)
{
    netblt_time now = netblt_clock_now();
    char reason[NETBLT_STRING_MAX_BYTES + 1];
    work->failure = *failure;
    if (work->connection == NULL || work->finished)
        return;
    if (work->to != NULL) {
        snprintf(reason, sizeof reason, "the receiver cannot store the data: %s", sink_error_text(work->to));
        netblt_abort(work->connection, reason, now);
    } else if (netblt_quit(work->connection, "the sender cannot read its data", now) != 0) {
        netblt_abort(work->connection, "cannot read the data", now);
    }
}

/* What was needed late, when the peer requested data, could not be opened. */
static void end_without_data(transfer *work)
{
    if (work->failure.kind != NETBLT_FAILURE_NONE && work->connection != NULL && !work->finished)
        netblt_abort(work->connection, "cannot read the data", netblt_clock_now());
}

void transfer_tend(transfer *work)
{
    const netblt_failure *failure = NULL;
    if (work->from == NULL && work->to == NULL)
        end_without_data(work);
    if (work->from != NULL) {
        tend_source(work);
        failure = source_failure(work->from);
    } else if (work->to != NULL) {
        tend_sink(work);
        failure = sink_failure(work->to);
    }
    if (failure != NULL && work->failure.kind == NETBLT_FAILURE_NONE)
        give_up(work, failure);
}

bool transfer_is_over(const transfer *work)
{
    return work->closed && (work->to == NULL || sink_is_at_rest(work->to));
}

bool transfer_interrupt(transfer *work, bool again)
{
    netblt_time now = netblt_clock_now();
    work->interrupted = true;
    if (work->connection == NULL || work->finished)
        return false;
    if (!again && netblt_quit(work->connection, REASON_INTERRUPTED, now) == 0)
        return true;
    return netblt_abort(work->connection, REASON_INTERRUPTED, now) == 0;
}
