/* SPDX-License-Identifier: BSD-2-Clause */
/* The core's client for the transfers of `netblt perf`: their data or their figures. */
#include <stdio.h>
#include <string.h>

#include "cli/perf/perf.h"
#include "core/base/bytes.h"
#include "core/wire/wire.h"
#include "io/clock.h"

/* Headers are read here as they pass by: offsets of WIRE-02 and WIRE-10. */
#define AT_TYPE 3
#define AT_LOCAL_PORT 6
#define AT_FOREIGN_PORT 8
#define AT_BUFFER 12

static uint8_t *buffer_in(const perf_memory *memory, uint64_t index, uint32_t capacity)
{
    return memory->bytes + index % (memory->size / capacity) * capacity;
}

/* ---- sending -------------------------------------------------------------------------------------------------- */

/* Long enough for some round trips and many buffers of most paths, short against most measurements. */
#define PACE_MARK_US 500000

/* Bytes a second that were confirmed lately; 0 = not known yet. */
static double recent_pace(perf_pace *pace, const netblt_stats *stats, netblt_time now)
{
    netblt_time every = PACE_MARK_US > 2 * stats->round_trip_us ? PACE_MARK_US : 2 * stats->round_trip_us;
    if (stats->payload_bytes == 0)
        return 0;
    if (pace->marked_at == 0) {
        *pace = (perf_pace){now, stats->payload_bytes, now, stats->payload_bytes};
    } else if (now - pace->marked_at >= every) {
        pace->before_at = pace->marked_at;
        pace->before_bytes = pace->marked_bytes;
        pace->marked_at = now;
        pace->marked_bytes = stats->payload_bytes;
    }
    if (now - pace->before_at < every)
        return 0;
    return (double)(stats->payload_bytes - pace->before_bytes) * 1e6 / (double)(now - pace->before_at);
}

/* Has a transfer by time enough buffers? Those that are under way will still take as long as others took lately. In its
 * first half a transfer may still be starting, and what it did lately does not show what it will do. */
static bool is_time_up(perf_run *run, netblt_connection *connection, uint64_t supplied)
{
    netblt_time now = netblt_clock_now();
    netblt_info info;
    double pace;
    if (run->stop_at == 0 || now >= run->stop_at)
        return run->stop_at != 0;
    netblt_get_info(connection, &info);
    pace = recent_pace(&run->pace, &info.stats, now);
    if (pace <= 0 || now - run->work.started_at < run->stop_at - now)
        return false;
    return (double)(supplied - info.stats.payload_bytes) / pace * 1e6 >= (double)(run->stop_at - now);
}

/* A transfer ends within 4 GiB. */
static enum netblt_send_buffer supply_data(perf_run *run, netblt_connection *connection, uint64_t index,
                                           uint32_t capacity, const uint8_t **data, uint32_t *length, bool *last)
{
    uint64_t offset = index * capacity;
    uint64_t left = run->size > offset ? run->size - offset : 0;
    *data = buffer_in(&run->all->sent, index, capacity);
    *length = left < capacity ? (uint32_t)left : capacity;
    *last = left <= capacity || is_time_up(run, connection, offset + capacity);
    return NETBLT_SEND_BUFFER_READY;
}

static enum netblt_send_buffer supply_figures(perf_run *run, uint64_t index, uint32_t capacity, const uint8_t **data,
                                              uint32_t *length, bool *last)
{
    perf_run *about = perf_find(run->all, run->wanted_id);
    uint64_t offset = index * capacity;
    uint32_t left;
    if (about != NULL && !about->work.finished) {
        run->waiting = true;
        return NETBLT_SEND_BUFFER_WAIT;
    }
    if (run->text_bytes == 0 && about != NULL)
        run->text_bytes = (uint32_t)perf_figures_write(&about->own, run->text);
    left = offset < run->text_bytes ? run->text_bytes - (uint32_t)offset : 0;
    *data = (const uint8_t *)run->text + (left == 0 ? 0 : offset);
    *length = left < capacity ? left : capacity;
    *last = left <= capacity;
    return NETBLT_SEND_BUFFER_READY;
}

static enum netblt_send_buffer get_send_buffer(void *context, netblt_connection *connection, uint64_t index,
                                               uint32_t capacity, const uint8_t **data, uint32_t *length, bool *last)
{
    perf_run *run = context;
    return run->kind == PERF_DATA ? supply_data(run, connection, index, capacity, data, length, last)
                                  : supply_figures(run, index, capacity, data, length, last);
}

/* ---- receiving ------------------------------------------------------------------------------------------------ */

/* Figures are few: what does not fit is no figure of ours, and lands on what came before it. */
static uint8_t *get_receive_buffer(void *context, netblt_connection *connection, uint64_t index, uint32_t capacity)
{
    perf_run *run = context;
    uint64_t offset = index * capacity;
    (void)connection;
    if (run->kind == PERF_DATA)
        return buffer_in(&run->all->received, index, capacity);
    return (uint8_t *)run->text + (offset + capacity <= PERF_FIGURES_BYTES ? offset : 0);
}

/* Tenths of a second, and at most an hour of them: what comes later is in the totals only. */
#define INTERVALS_MAX 36000

static void count_delivered(perf_run *run, netblt_time now, uint32_t length)
{
    size_t interval;
    json_t *bytes;
    if (run->intervals == NULL) {
        run->intervals = json_array();
        run->first_at = now;
    }
    run->last_at = now;
    interval = (size_t)((now - run->first_at) / PERF_INTERVAL_US);
    if (interval >= INTERVALS_MAX)
        return;
    while (json_array_size(run->intervals) <= interval)
        if (json_array_append_new(run->intervals, json_integer(0)) != 0)
            return; /* memory is short */
    bytes = json_array_get(run->intervals, interval);
    json_integer_set(bytes, json_integer_value(bytes) + length);
}

static void deliver(void *context, netblt_connection *connection, uint64_t index, uint8_t *data, uint32_t length,
                    bool last)
{
    perf_run *run = context;
    (void)connection;
    (void)index;
    (void)data;
    (void)last;
    if (run->kind == PERF_DATA)
        count_delivered(run, netblt_clock_now(), length);
}

/* ---- beginning and end ---------------------------------------------------------------------------------------- */

static void make_figures(perf_run *run)
{
    const netblt_stats *stats = &run->work.info.stats;
    run->own = (perf_figures){
        .known = true,
        .data_packets = run->work.role == NETBLT_SENDER ? stats->data_packets_sent : stats->data_packets_received,
        .retransmitted = stats->data_packets_retransmitted,
        .data_timeouts = stats->data_timeouts,
        .steady_bps =
            (uint64_t)stopwatch_steady_bps(&run->watch, stats->payload_bytes, run->work.info.negotiated.buffer_size),
    };
}

/* A passive end's transfer counts once its peer is validated: forged OPENs must not use up --count. Peers may have been
 * accepted at the same time when only one more was to be served: then the first to be validated is. */
static void validated(void *context, netblt_connection *connection)
{
    perf_run *run = context;
    perf *all = run->all;
    if (run->kind != PERF_DATA || run->validated)
        return;
    run->validated = true;
    if (++all->served > all->given->count.value && !run->work.finished)
        netblt_abort(connection, "all were served: no more", netblt_clock_now());
}

static void finished(void *context, netblt_connection *connection, const netblt_outcome *outcome)
{
    perf_run *run = context;
    transfer_client.finished(context, connection, outcome);
    if (outcome->result == NETBLT_DONE) /* no forged peer can have reached this end */
        validated(run, connection);
    run->cpu_s = perf_cpu_s() - run->cpu_started_s;
    if (run->kind == PERF_DATA)
        make_figures(run);
    else if (run->about != NULL)
        perf_figures_read(run->text, &run->about->others);
}

netblt_client perf_client(void)
{
    return (netblt_client){
        .size = sizeof(netblt_client),
        .get_send_buffer = get_send_buffer,
        .get_receive_buffer = get_receive_buffer,
        .deliver = deliver,
        .opened = transfer_client.opened,
        .validated = validated,
        .finished = finished,
        .closed = transfer_client.closed,
    };
}

/* ---- the stopwatch -------------------------------------------------------------------------------------------- */

static bool is_of(const perf_run *run, const netblt_passing *passing, const uint8_t *packet)
{
    const uint8_t *ours = packet + (passing->sent ? AT_LOCAL_PORT : AT_FOREIGN_PORT);
    const uint8_t *theirs = packet + (passing->sent ? AT_FOREIGN_PORT : AT_LOCAL_PORT);
    const netblt_address *foreign = &passing->path->foreign;
    return run->kind == PERF_DATA && run->work.opened && run->work.info.local_port == nb_get16(ours) &&
           run->work.info.foreign_port == nb_get16(theirs) && run->work.info.path.foreign.length == foreign->length &&
           memcmp(run->work.info.path.foreign.bytes, foreign->bytes, foreign->length) == 0;
}

void perf_watch(void *context, const netblt_passing *passing)
{
    perf *all = context;
    perf_run *run = NULL; /* that of the packet before, most of the time */
    for (size_t offset = 0; offset + NETBLT_DATA_HEADER_BYTES <= passing->length; offset += passing->segment_bytes) {
        const uint8_t *packet = passing->packets + offset;
        if (packet[AT_TYPE] != NB_DATA && packet[AT_TYPE] != NB_LDATA)
            continue;
        if (run == NULL || !is_of(run, passing, packet))
            TAILQ_FOREACH(run, &all->runs, place)
                if (is_of(run, passing, packet))
                    break;
        if (run != NULL && !run->work.finished)
            stopwatch_see(&run->watch, nb_get32(packet + AT_BUFFER), passing->at);
    }
}
