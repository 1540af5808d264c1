/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Flows: what clients of the core do, and what is measured. */
#include "world_flow.h"

#include <stdlib.h>
#include <string.h>

#define LISTEN_PORT 1
#define MS_PER_S 1000

/* Places in a NETBLT packet (RFC 998 8). */
enum { AT_TYPE = 3, AT_LOCAL_PORT = 6, AT_FOREIGN_PORT = 8, AT_BUFFER = 12, AT_PACKET = 18 };
enum { TYPE_DATA = 6, TYPE_LDATA = 7 };

static uint32_t read16(const uint8_t *bytes)
{
    return (uint32_t)(bytes[0] << 8 | bytes[1]);
}

static uint32_t read32(const uint8_t *bytes)
{
    return read16(bytes) << 16 | read16(bytes + 2);
}

bool world_flow_is_data(const uint8_t *netblt, size_t length)
{
    return length >= NETBLT_DATA_HEADER_BYTES && (netblt[AT_TYPE] == TYPE_DATA || netblt[AT_TYPE] == TYPE_LDATA);
}

size_t world_flow_data_bytes(size_t length)
{
    return length > NETBLT_DATA_HEADER_BYTES ? length - NETBLT_DATA_HEADER_BYTES : 0;
}

/* ---- what is remembered of buffers ----------------------------------------------------------------------------- */

static world_buffer *buffer_of(struct flow *flow, uint64_t index)
{
    static _Thread_local world_buffer nowhere;
    if (index >= flow->buffer_capacity) {
        size_t capacity = flow->buffer_capacity ? 2 * flow->buffer_capacity : 256;
        while (capacity <= index)
            capacity *= 2;
        world_buffer *buffers = realloc(flow->buffers, capacity * sizeof *buffers);
        if (!buffers) {
            world_fail(flow->ends[0].world, "no memory for what is measured");
            return &nowhere;
        }
        memset(buffers + flow->buffer_capacity, 0, (capacity - flow->buffer_capacity) * sizeof *buffers);
        flow->buffers = buffers;
        flow->buffer_capacity = capacity;
    }
    if (index >= flow->buffer_count)
        flow->buffer_count = (size_t)index + 1;
    return &flow->buffers[index];
}

const world_buffer *world_buffers(const world *w, int flow, size_t *count)
{
    *count = w->flows[flow].buffer_count;
    return w->flows[flow].buffers;
}

static void sample(world *w, enum world_sample_kind kind, uint32_t flow, uint64_t buffer, uint32_t packet,
                   uint64_t value)
{
    const world_sample one = {
        .at_ns = w->now_ns, .kind = kind, .flow = flow, .buffer = (uint32_t)buffer, .packet = packet, .value = value};
    world_sample_add(w, &one);
}

/* ---- clients --------------------------------------------------------------------------------------------------- */

static struct flow *flow_of(const struct flow_end *end)
{
    return &end->world->flows[end->flow];
}

static void count_outstanding(struct flow_end *end, int change)
{
    struct flow *flow = flow_of(end);
    flow->outstanding += (uint32_t)change;
    if (flow->outstanding > flow->peak_outstanding)
        flow->peak_outstanding = flow->outstanding;
    sample(end->world, WORLD_OUTSTANDING, end->flow, 0, 0, flow->outstanding);
}

static enum netblt_send_buffer get_send_buffer(void *context, netblt_connection *connection, uint64_t index,
                                               uint32_t capacity, const uint8_t **data, uint32_t *length, bool *last)
{
    (void)connection;
    struct flow_end *end = context;
    struct flow *flow = flow_of(end);
    uint64_t bytes = flow->settings.bytes;
    uint64_t left = bytes == 0 ? UINT64_MAX : bytes - index * capacity;
    *data = end->world->memory;
    *length = left < capacity ? (uint32_t)left : capacity;
    *last = left <= capacity;
    buffer_of(flow, index)->bytes = *length;
    count_outstanding(end, 1);
    return NETBLT_SEND_BUFFER_READY;
}

static void release(void *context, netblt_connection *connection, uint64_t index, const uint8_t *data)
{
    (void)connection;
    (void)data;
    struct flow_end *end = context;
    buffer_of(flow_of(end), index)->acked_ns = end->world->now_ns;
    count_outstanding(end, -1);
}

static uint8_t *get_receive_buffer(void *context, netblt_connection *connection, uint64_t index, uint32_t capacity)
{
    (void)connection;
    (void)index;
    (void)capacity;
    return ((struct flow_end *)context)->world->sink;
}

static void deliver(void *context, netblt_connection *connection, uint64_t index, uint8_t *data, uint32_t length,
                    bool last)
{
    (void)connection;
    (void)data;
    (void)last;
    struct flow_end *end = context;
    flow_of(end)->delivered += length;
    buffer_of(flow_of(end), index)->done_ns = end->world->now_ns;
    sample(end->world, WORLD_COMPLETE, end->flow, index, 0, length);
}

static void opened(void *context, netblt_connection *connection)
{
    struct flow_end *end = context;
    end->connection = connection;
    flow_of(end)->was_opened = true;
}

static void finished(void *context, netblt_connection *connection, const netblt_outcome *outcome)
{
    (void)connection;
    struct flow_end *end = context;
    struct flow *flow = flow_of(end);
    uint64_t now = end->world->now_ns;
    flow->done_ns[end->sends ? 0 : 1] = now ? now : 1;
    if (outcome->result != NETBLT_DONE && flow->result == NETBLT_DONE) {
        flow->result = outcome->result;
        snprintf(flow->reason, sizeof flow->reason, "%s", outcome->reason);
    }
}

static void closed(void *context, netblt_connection *connection)
{
    struct flow_end *end = context;
    netblt_get_info(connection, &end->info);
    end->connection = NULL;
}

void world_flow_clients(world *w)
{
    w->active_client = (netblt_client){.size = sizeof(netblt_client),
                                       .get_send_buffer = get_send_buffer,
                                       .release = release,
                                       .finished = finished,
                                       .closed = closed,
                                       .opened = opened};
    w->passive_client = (netblt_client){.size = sizeof(netblt_client),
                                        .get_receive_buffer = get_receive_buffer,
                                        .deliver = deliver,
                                        .finished = finished,
                                        .closed = closed,
                                        .opened = opened};
}

/* ---- opening --------------------------------------------------------------------------------------------------- */

static void accept_flow(void *context, const netblt_request *request, netblt_answer *answer)
{
    world *w = context;
    unsigned index = (unsigned)(request->foreign_port - FIRST_PORT);
    if (request->foreign_port < FIRST_PORT || index >= (unsigned)w->flow_count)
        return;
    const world_flow *flow = &w->flows[index].settings;
    answer->accept = true;
    answer->client = &w->passive_client;
    answer->context = &w->flows[index].ends[1];
    answer->limits.death_timer_s = flow->death_timer_s;
    answer->options = (netblt_options){.any_order = !flow->in_order,
                                       .beyond_4g = true,
                                       .rate = flow->automatic ? NETBLT_RATE_AUTO : NETBLT_RATE_FIXED,
                                       .rate_limit_bps = flow->rate_limit_bps};
}

int world_flow_listen(world *w, struct host *host)
{
    int error = netblt_listen(host->endpoint, LISTEN_PORT, accept_flow, w);
    return error ? world_fail(w, "a host cannot listen: %s", netblt_strerror(error)) : 0;
}

int world_flow_open(world *w, unsigned index)
{
    struct flow *flow = &w->flows[index];
    const world_flow *settings = &flow->settings;
    struct host *host = &w->hosts[settings->sender];
    const netblt_path path = {.local = host->address, .foreign = w->hosts[settings->receiver].address};
    netblt_params params;
    netblt_params_default(&params);
    params.buffer_size = settings->buffer_size;
    params.packet_size = settings->packet_size;
    params.burst_size = settings->burst_size;
    params.burst_interval_ms = settings->burst_interval_ms;
    params.max_buffers = settings->max_buffers;
    params.death_timer_s = settings->death_timer_s;
    params.data_checksum = settings->data_checksum;
    params.transfer_size = settings->bytes;
    const netblt_options options = {.beyond_4g = true,
                                    .rate = settings->automatic ? NETBLT_RATE_AUTO : NETBLT_RATE_FIXED,
                                    .rate_limit_bps = settings->rate_limit_bps,
                                    .open_timeout_us = settings->open_timeout_us};
    flow->opened = true;
    flow->started_ns = w->now_ns;
    int error = netblt_open(host->endpoint,
                            &(netblt_open_args){.size = sizeof(netblt_open_args),
                                                .path = &path,
                                                .local_port = (uint16_t)(FIRST_PORT + index),
                                                .foreign_port = LISTEN_PORT,
                                                .role = NETBLT_SENDER,
                                                .unique_id = (uint32_t)fw_random_next(&w->random),
                                                .params = &params,
                                                .client = &w->active_client,
                                                .context = &flow->ends[0],
                                                .options = options},
                            w->now_ns / NS_PER_US, &flow->ends[0].connection);
    return error ? world_fail(w, "flow %u cannot open: %s", index, netblt_strerror(error)) : 0;
}

/* ---- packets --------------------------------------------------------------------------------------------------- */

/* The flow that a packet belongs to: its sender's port. */
static uint32_t flow_by_port(const world *w, const uint8_t *netblt, size_t length)
{
    if (length < NETBLT_HEADER_BYTES)
        return NO_FLOW;
    uint32_t local = read16(netblt + AT_LOCAL_PORT);
    uint32_t port = local >= FIRST_PORT ? local : read16(netblt + AT_FOREIGN_PORT);
    return port >= FIRST_PORT && port - FIRST_PORT < (uint32_t)w->flow_count ? port - FIRST_PORT : NO_FLOW;
}

uint32_t world_flow_sent(world *w, const uint8_t *netblt, size_t length)
{
    uint32_t index = flow_by_port(w, netblt, length);
    if (index == NO_FLOW || !world_flow_is_data(netblt, length))
        return index;
    struct flow *flow = &w->flows[index];
    uint32_t number = read32(netblt + AT_BUFFER), packet = read16(netblt + AT_PACKET);
    world_buffer *buffer = buffer_of(flow, number);
    flow->data_bytes_sent += length;
    if (packet == 0 && buffer->first_sent_ns == 0)
        buffer->first_sent_ns = w->now_ns ? w->now_ns : 1;
    bool again = packet < buffer->packets_sent;
    buffer->packets_sent = again ? buffer->packets_sent : packet + 1;
    sample(w, again ? WORLD_RESENT : WORLD_SENT, index, number, packet, length);
    return index;
}

void world_flow_received(world *w, const uint8_t *netblt, size_t length)
{
    uint32_t index = flow_by_port(w, netblt, length);
    if (index == NO_FLOW || !world_flow_is_data(netblt, length))
        return;
    uint32_t number = read32(netblt + AT_BUFFER);
    struct flow *flow = &w->flows[index];
    if (number >= flow->buffer_count)
        return; /* corrupted on the way */
    world_buffer *buffer = &flow->buffers[number];
    if (buffer->first_arrived_ns == 0)
        buffer->first_arrived_ns = w->now_ns;
    sample(w, WORLD_ARRIVED, index, number, read16(netblt + AT_PACKET), length);
}

void world_flow_observe(void *context, const netblt_event *event)
{
    world *w = context;
    netblt_info info;
    if (event->kind != NETBLT_EVENT_RATE || event->connection == NULL)
        return;
    netblt_get_info(event->connection, &info);
    unsigned index = (unsigned)(info.local_port - FIRST_PORT);
    if (info.role != NETBLT_SENDER || info.local_port < FIRST_PORT || index >= (unsigned)w->flow_count)
        return;
    struct flow *flow = &w->flows[index];
    flow->burst_size = event->rate.burst_size;
    flow->burst_interval_ms = event->rate.burst_interval_ms;
    uint64_t bits = (uint64_t)event->rate.burst_size * info.negotiated.packet_size * 8 * MS_PER_S;
    sample(w, WORLD_RATE, index, 0, 0, event->rate.burst_interval_ms ? bits / event->rate.burst_interval_ms : 0);
}

/* ---- results --------------------------------------------------------------------------------------------------- */

static void get_info(const struct flow_end *end, netblt_info *info)
{
    if (end->connection)
        netblt_get_info(end->connection, info);
    else
        *info = end->info;
}

void world_get_flow(const world *w, int index, world_flow_stats *stats)
{
    const struct flow *flow = &w->flows[index];
    netblt_info sender, receiver;
    get_info(&flow->ends[0], &sender);
    get_info(&flow->ends[1], &receiver);
    *stats = (world_flow_stats){
        .opened = flow->was_opened,
        .finished = flow->done_ns[0] && flow->done_ns[1] && flow->result == NETBLT_DONE,
        .result = flow->result,
        .started_ns = flow->started_ns,
        .sender_done_ns = flow->done_ns[0],
        .receiver_done_ns = flow->done_ns[1],
        .delivered_bytes = flow->delivered,
        .data_packets_sent = sender.stats.data_packets_sent,
        .data_packets_retransmitted = sender.stats.data_packets_retransmitted,
        .data_packets_received = receiver.stats.data_packets_received,
        .data_packets_duplicate = receiver.stats.data_packets_duplicate,
        .data_bytes_sent = flow->data_bytes_sent,
        .data_timeouts = receiver.stats.data_timeouts,
        .control_timeouts = receiver.stats.control_timeouts,
        .control_packets_sent = receiver.stats.control_packets_sent,
        .resends_sent = receiver.stats.resends_sent,
        .round_trip_us = receiver.stats.round_trip_us,
        .burst_size = flow->burst_size,
        .burst_interval_ms = flow->burst_interval_ms,
        .peak_outstanding = flow->peak_outstanding,
    };
}

const char *world_flow_reason(const world *w, int flow)
{
    return w->flows[flow].result ? w->flows[flow].reason : "";
}
