/* SPDX-License-Identifier: BSD-2-Clause */
/* Flows over one bad path in virtual time. */
#include "path_sim.h"

#include "cli/transfer/announced.h"
#include "flakeway.h"
#include "path_random.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LISTEN_PORT 1
#define FIRST_PORT 40000
#define CROSS_BYTES 1500
#define FRAME_BYTES (PATH_IPV4_HEADER_BYTES + NETBLT_PACKET_MAX_BYTES)
#define SECOND_US 1e6

struct sim;

/* One end of one flow. */
struct side {
    struct sim *sim;
    unsigned flow;
    netblt_connection *connection;
    netblt_info info; /* as of `closed` */
    bool closed;
};

/* A packet that waits for the receiving host's processor. */
struct waiting {
    netblt_time at;         /* it may be looked at from here on */
    netblt_time arrived_at; /* as the kernel notes it */
    size_t length;
    uint8_t *bytes;
};

struct host {
    netblt_endpoint *endpoint;
    netblt_path path;
    netblt_time last_deadline;
    netblt_time wake_at;  /* for its timers */
    netblt_time known_at; /* the endpoint knows this time: what arrives is not earlier to it (io/driver.c) */
    bool woken;           /* a packet arrived, or one that waited was looked at */
    struct waiting *inbox;
    size_t head, count, capacity;
    double busy_until;
};

/* What is counted, so that the second half of a run is a difference. */
struct mark {
    uint64_t bytes[PATH_FLOWS_MAX];
    netblt_info sender[PATH_FLOWS_MAX];
    netblt_info receiver[PATH_FLOWS_MAX];
    uint64_t offered, queue_drops, socket_drops, cross_offered, cross_delivered;
};

struct sim {
    const struct path_run *run;
    struct path_result *result;
    netblt_time now;
    flakeway *engine;
    struct host hosts[2]; /* [0] sends data */
    struct side sides[PATH_FLOWS_MAX][2];
    bool opened[PATH_FLOWS_MAX];
    unsigned done[PATH_FLOWS_MAX]; /* ends that are */
    uint64_t delivered[PATH_FLOWS_MAX];
    uint64_t held[PATH_FLOWS_MAX];
    uint64_t socket_drops, cross_offered, cross_delivered;
    double cross_at;
    bool changed, out;
    uint64_t random;
    struct mark half;
    uint8_t *memory; /* what every buffer is sent from, and received into */
    uint8_t frame[FRAME_BYTES];
};

/* ---- clients --------------------------------------------------------------------------------------------------- */

static enum netblt_send_buffer get_send_buffer(void *context, netblt_connection *connection, uint64_t index,
                                               uint32_t capacity, const uint8_t **data, uint32_t *length, bool *last)
{
    (void)connection;
    struct side *side = context;
    uint64_t bytes = side->sim->run->flows[side->flow].bytes;
    uint64_t left = bytes == 0 ? UINT64_MAX : bytes - index * capacity;
    *data = side->sim->memory;
    *length = left < capacity ? (uint32_t)left : capacity;
    *last = left <= capacity;
    return NETBLT_SEND_BUFFER_READY;
}

static uint8_t *get_receive_buffer(void *context, netblt_connection *connection, uint64_t index, uint32_t capacity)
{
    (void)connection;
    struct side *side = context;
    struct sim *sim = side->sim;
    struct flow_result *result = &sim->result->flows[side->flow];
    const struct flow *flow = &sim->run->flows[side->flow];
    if (!announced_wants(flow->bytes, index, capacity, (unsigned)sim->held[side->flow]))
        return NULL; /* as the command does */
    if (++sim->held[side->flow] > result->peak_outstanding)
        result->peak_outstanding = sim->held[side->flow];
    return sim->memory;
}

static void deliver(void *context, netblt_connection *connection, uint64_t index, uint8_t *data, uint32_t length,
                    bool last)
{
    (void)connection;
    (void)index;
    (void)data;
    (void)last;
    struct side *side = context;
    struct sim *sim = side->sim;
    sim->delivered[side->flow] += length;
    sim->held[side->flow]--;
    if (sim->delivered[side->flow] == sim->run->flows[side->flow].bytes)
        sim->result->flows[side->flow].received_seconds =
            (double)sim->now / SECOND_US - sim->run->flows[side->flow].start_s;
}

static void discard(void *context, netblt_connection *connection, uint64_t index, uint8_t *data)
{
    (void)connection;
    (void)index;
    (void)data;
    struct side *side = context;
    side->sim->held[side->flow]--;
}

static void finished(void *context, netblt_connection *connection, const netblt_outcome *outcome)
{
    (void)connection;
    struct side *side = context;
    struct sim *sim = side->sim;
    bool sends = side == &sim->sides[side->flow][0];
    if (outcome->result != NETBLT_DONE) {
        fprintf(stderr, "t=%.3f s: flow %u, %s: %s (%s)\n", (double)sim->now / SECOND_US, side->flow,
                sends ? "sender" : "receiver", netblt_result_name(outcome->result), outcome->reason);
        return;
    }
    double seconds = (double)sim->now / SECOND_US - sim->run->flows[side->flow].start_s;
    if (sends)
        sim->result->flows[side->flow].sender_seconds = seconds;
    else
        sim->result->flows[side->flow].seconds = seconds;
    sim->done[side->flow]++;
}

static void closed(void *context, netblt_connection *connection)
{
    struct side *side = context;
    netblt_get_info(connection, &side->info);
    side->closed = true;
    side->connection = NULL;
}

static const netblt_client client = {.size = sizeof(netblt_client),
                                     .get_send_buffer = get_send_buffer,
                                     .get_receive_buffer = get_receive_buffer,
                                     .deliver = deliver,
                                     .discard = discard,
                                     .finished = finished,
                                     .closed = closed};

static void opened_passively(void *context, netblt_connection *connection)
{
    struct side *side = context;
    side->connection = connection;
}

static netblt_client passive_client;

static void accept_flow(void *context, const netblt_request *request, netblt_answer *answer)
{
    struct sim *sim = context;
    unsigned flow = (unsigned)(request->foreign_port - FIRST_PORT);
    passive_client = client;
    passive_client.opened = opened_passively;
    bool sends = request->role == NETBLT_SENDER;
    answer->accept = true;
    answer->client = &passive_client;
    answer->context = &sim->sides[flow][sends ? 0 : 1];
    answer->options.any_order = !sim->run->in_order;
    answer->options.beyond_4g = true;
    answer->options.rate = sends ? sim->run->flows[flow].sender_rate : sim->run->flows[flow].receiver_rate;
}

static void open_flow(struct sim *sim, unsigned i)
{
    const struct flow *flow = &sim->run->flows[i];
    const unsigned opener = flow->receiver_opens ? 1 : 0;
    const netblt_options options = {.any_order = !sim->run->in_order,
                                    .rate = flow->receiver_opens ? flow->receiver_rate : flow->sender_rate,
                                    .rate_is_known = flow->rate_is_known,
                                    .beyond_4g = true,
                                    .open_timeout_us = (netblt_time)(flow->open_timeout_s * SECOND_US)};
    struct side *side = &sim->sides[i][opener];
    sim->opened[i] = true;
    int error = netblt_open(sim->hosts[opener].endpoint,
                            &(netblt_open_args){.size = sizeof(netblt_open_args),
                                                .path = &sim->hosts[opener].path,
                                                .local_port = (uint16_t)(FIRST_PORT + i),
                                                .foreign_port = LISTEN_PORT,
                                                .role = flow->receiver_opens ? NETBLT_RECEIVER : NETBLT_SENDER,
                                                .unique_id = (uint32_t)path_random(&sim->random),
                                                .params = &flow->params,
                                                .client = &client,
                                                .context = side,
                                                .options = options},
                            sim->now, &side->connection);
    if (error != 0) {
        fprintf(stderr, "flow %u cannot open: %s\n", i, netblt_strerror(error));
        exit(2);
    }
}

static void trace(void *context, const netblt_event *event)
{
    (void)context;
    if (event->kind != NETBLT_EVENT_RATE)
        return;
    netblt_info info;
    netblt_get_info(event->connection, &info);
    double pps =
        event->rate.burst_interval_ms == 0 ? 0 : 1000.0 * event->rate.burst_size / event->rate.burst_interval_ms;
    printf("%10.4f %s %u: %u/%u ms = %.2f Mb/s, rtt %.1f ms, measured %.2f Mb/s: %s\n", (double)event->at / SECOND_US,
           info.role == NETBLT_SENDER ? "send" : "recv",
           info.role == NETBLT_SENDER ? info.local_port : info.foreign_port, event->rate.burst_size,
           event->rate.burst_interval_ms, pps * (info.negotiated.packet_size + 44) * 8 / 1e6,
           (double)event->rate.round_trip_us / 1000.0, (double)event->rate.measured_bps / 1e6,
           event->why == NULL ? "" : event->why);
}

/* ---- the path -------------------------------------------------------------------------------------------------- */

static void set_rate(struct sim *sim, const char *format, double value)
{
    char line[64];
    flakeway_error error;
    snprintf(line, sizeof line, format, value);
    if (flakeway_add(sim->engine, line, &error) < 0) {
        fprintf(stderr, "%s: %s\n", line, error.message);
        exit(2);
    }
}

static void set_path(struct sim *sim, double mbit, double rtt_ms)
{
    const struct path *path = &sim->run->path;
    set_rate(sim, "latency %.0fus", rtt_ms * 500);
    if (mbit > 0) {
        set_rate(sim, "rate %.0fkbit", mbit * 1000);
        if (path->queue_packets > 0)
            set_rate(sim, "queue %.0fpackets", path->queue_packets);
        else
            set_rate(sim, "queue %.0fB", mbit * 1000 / 8 * path->queue_ms);
    }
}

/* After each packet times turn bad or good again with probabilities whose ratio makes the share of bad times, and half
 * of that is lost. */
static void lose_in_runs(struct sim *sim)
{
    const struct path *path = &sim->run->path;
    double bad_share = 2 * path->loss_percent / 100, to_good = 1 / path->loss_run_packets;
    char line[64];
    snprintf(line, sizeof line, "gilbert %.6f%%%% %%.4f%%%% bad=50%%%%", 100 * to_good * bad_share / (1 - bad_share));
    set_rate(sim, line, 100 * to_good);
}

static void make_path(struct sim *sim)
{
    const struct path *path = &sim->run->path;
    char line[64];
    set_path(sim, path->mbit, path->rtt_ms);
    if (path->loss_percent > 0 && path->loss_run_packets > 0)
        lose_in_runs(sim);
    else if (path->loss_percent > 0)
        set_rate(sim, "loss %.3f%%", path->loss_percent);
    if (path->reorder_percent > 0) {
        snprintf(line, sizeof line, "reorder %.3f%%%% by %%.0fus", path->reorder_percent);
        set_rate(sim, line, path->reorder_ms * 1000);
    }
}

static void offer(struct sim *sim, unsigned from, const uint8_t *packet, size_t length, bool is_netblt)
{
    memcpy(sim->frame + PATH_IPV4_HEADER_BYTES, packet, length);
    const flakeway_packet offered = {.bytes = sim->frame,
                                     .length = PATH_IPV4_HEADER_BYTES + length,
                                     .netblt_offset = PATH_IPV4_HEADER_BYTES,
                                     .netblt_length = is_netblt ? length : 0};
    flakeway_offer(sim->engine, (enum flakeway_direction)from, &offered, sim->now);
}

/* When the sender has sent the last packet for the first time. */
static void note_first_transmissions(struct sim *sim)
{
    for (unsigned i = 0; i < sim->run->flow_count; i++) {
        const struct flow *flow = &sim->run->flows[i];
        struct flow_result *result = &sim->result->flows[i];
        netblt_info info;
        if (flow->bytes == 0 || sim->sides[i][0].connection == NULL)
            continue;
        netblt_get_info(sim->sides[i][0].connection, &info);
        uint64_t new_packets = info.stats.data_packets_sent - info.stats.data_packets_retransmitted;
        if (new_packets > result->first_sent_packets) {
            result->first_sent_packets = new_packets;
            result->first_sent_seconds = (double)sim->now / SECOND_US - flow->start_s;
        }
    }
}

static void drain(struct sim *sim, unsigned from)
{
    static uint8_t packets[NETBLT_PACKET_MAX_BYTES + 1];
    struct host *host = &sim->hosts[from];
    netblt_output output;
    host->known_at = sim->now;
    while (netblt_output_burst(host->endpoint, packets, sizeof packets, &output, sim->now) > 0)
        for (size_t at = 0; at < output.length; at += output.segment_bytes) {
            size_t left = output.length - at;
            offer(sim, from, packets + at, left < output.segment_bytes ? left : output.segment_bytes, true);
        }
    if (from == 0)
        note_first_transmissions(sim);
}

static void push(struct host *host, const struct waiting *waiting)
{
    if (host->count == host->capacity) {
        size_t capacity = host->capacity == 0 ? 1024 : 2 * host->capacity;
        struct waiting *inbox = calloc(capacity, sizeof *inbox);
        for (size_t i = 0; i < host->count; i++)
            inbox[i] = host->inbox[(host->head + i) % host->capacity];
        free(host->inbox);
        host->inbox = inbox;
        host->capacity = capacity;
        host->head = 0;
    }
    host->inbox[(host->head + host->count++) % host->capacity] = *waiting;
}

/* When a packet that arrives now is looked at: with those that wait already, or when the host wakes up for it. */
static netblt_time looked_at(struct sim *sim, unsigned to)
{
    const struct hosts *hosts = &sim->run->hosts;
    struct host *host = &sim->hosts[to];
    netblt_time at = sim->now;
    if (to == 1 && hosts->poll_us != 0)
        at = (sim->now + hosts->poll_us - 1) / hosts->poll_us * hosts->poll_us;
    if (hosts->wake_us == 0)
        return at;
    if (host->count == 0)
        return at + path_random_lateness_us(&sim->random, hosts->wake_us);
    netblt_time last = host->inbox[(host->head + host->count - 1) % host->capacity].at;
    return last > at ? last : at;
}

/* A packet reaches a host: it may be slow to look at it. */
static void arrive(struct sim *sim, unsigned to, const flakeway_released *released)
{
    const struct hosts *hosts = &sim->run->hosts;
    struct host *host = &sim->hosts[to];
    const uint8_t *bytes = released->packet.bytes + PATH_IPV4_HEADER_BYTES;
    size_t length = released->packet.netblt_length;
    if (hosts->wake_us == 0 && (to == 0 || (hosts->poll_us == 0 && hosts->packet_cost_us == 0))) {
        host->woken = true;
        netblt_input(host->endpoint, &host->path, bytes, length, length, sim->now);
        return;
    }
    if (hosts->socket_packets != 0 && host->count >= hosts->socket_packets) {
        sim->socket_drops++;
        return;
    }
    struct waiting waiting = {
        .at = looked_at(sim, to), .arrived_at = sim->now, .length = length, .bytes = malloc(length)};
    memcpy(waiting.bytes, bytes, length);
    push(host, &waiting);
}

static netblt_time inbox_at(const struct host *host)
{
    if (host->count == 0)
        return NETBLT_TIME_NEVER;
    netblt_time at = host->inbox[host->head].at;
    return at > (netblt_time)host->busy_until ? at : (netblt_time)host->busy_until;
}

static void look_into_inbox(struct sim *sim, unsigned i)
{
    struct host *host = &sim->hosts[i];
    while (inbox_at(host) <= sim->now) {
        struct waiting *first = &host->inbox[host->head];
        if (host->busy_until < (double)sim->now)
            host->busy_until = (double)sim->now;
        host->busy_until += i == 1 ? sim->run->hosts.packet_cost_us : 0;
        host->woken = true;
        host->head = (host->head + 1) % host->capacity;
        host->count--;
        if (first->arrived_at > host->known_at)
            host->known_at = first->arrived_at;
        netblt_input(host->endpoint, &host->path, first->bytes, first->length, first->length, host->known_at);
        free(first->bytes);
    }
}

static void release(struct sim *sim)
{
    flakeway_released released;
    while (flakeway_release(sim->engine, sim->now, &released)) {
        unsigned to = 1u - (unsigned)released.direction;
        if (released.packet.netblt_length == 0)
            sim->cross_delivered++;
        else
            arrive(sim, to, &released);
    }
}

static void offer_cross_traffic(struct sim *sim)
{
    static const uint8_t zeros[CROSS_BYTES - PATH_IPV4_HEADER_BYTES];
    if (sim->run->cross_mbit == 0)
        return;
    while (sim->cross_at <= (double)sim->now) {
        offer(sim, 0, zeros, sizeof zeros, false);
        sim->cross_offered++;
        sim->cross_at += CROSS_BYTES * 8 / sim->run->cross_mbit;
    }
}

/* ---- time ------------------------------------------------------------------------------------------------------ */

/* When a host's timer really fires. */
static netblt_time wake_at(struct sim *sim, unsigned i)
{
    struct host *host = &sim->hosts[i];
    netblt_time deadline = netblt_deadline(host->endpoint);
    if (deadline != host->last_deadline) {
        host->last_deadline = deadline;
        uint32_t late = i == 0 ? sim->run->hosts.late_us : 0;
        host->wake_at = deadline;
        if (deadline == NETBLT_TIME_NEVER || deadline <= sim->now)
            return deadline;
        host->wake_at += path_random_lateness_us(&sim->random, sim->run->hosts.wake_us);
        if (late != 0)
            host->wake_at += path_random(&sim->random) % (late + 1);
    }
    return host->wake_at;
}

static netblt_time earlier(netblt_time a, netblt_time b)
{
    return a < b ? a : b;
}

static netblt_time next_event(struct sim *sim)
{
    netblt_time next = flakeway_deadline(sim->engine);
    for (unsigned i = 0; i < 2; i++)
        next = earlier(next, earlier(wake_at(sim, i), inbox_at(&sim->hosts[i])));
    if (sim->run->cross_mbit != 0)
        next = earlier(next, (netblt_time)sim->cross_at + 1);
    for (unsigned i = 0; i < sim->run->flow_count; i++)
        if (!sim->opened[i])
            next = earlier(next, (netblt_time)(sim->run->flows[i].start_s * SECOND_US));
    return next;
}

static void get_info(const struct side *side, netblt_info *info)
{
    if (side->connection != NULL)
        netblt_get_info(side->connection, info);
    else
        *info = side->info;
}

static void take_mark(const struct sim *sim, struct mark *mark)
{
    const flakeway_stats *stats = flakeway_get_stats(sim->engine, FLAKEWAY_A_TO_B);
    memcpy(mark->bytes, sim->delivered, sizeof mark->bytes);
    for (unsigned i = 0; i < sim->run->flow_count; i++) {
        get_info(&sim->sides[i][0], &mark->sender[i]);
        get_info(&sim->sides[i][1], &mark->receiver[i]);
    }
    mark->offered = stats->seen;
    mark->queue_drops = stats->dropped_by_queue;
    mark->socket_drops = sim->socket_drops;
    mark->cross_offered = sim->cross_offered;
    mark->cross_delivered = sim->cross_delivered;
}

static void change_path(struct sim *sim)
{
    const struct path *path = &sim->run->path;
    sim->changed = true;
    set_path(sim, path->change_mbit, path->change_rtt_ms);
}

/* Begins and ends the outage. */
static void interrupt_path(struct sim *sim)
{
    const struct path *path = &sim->run->path;
    double since_s = (double)sim->now / SECOND_US - path->outage_at_s;
    bool out = since_s >= 0 && since_s < path->outage_s;
    if (out != sim->out)
        set_rate(sim, "loss %.3f%%", out ? 100 : path->loss_percent);
    sim->out = out;
}

static bool all_done(const struct sim *sim)
{
    for (unsigned i = 0; i < sim->run->flow_count; i++)
        if (sim->done[i] < 2)
            return false;
    return true;
}

static void step(struct sim *sim)
{
    const struct path *path = &sim->run->path;
    if (path->change_at_s > 0 && !sim->changed && (double)sim->now >= path->change_at_s * SECOND_US)
        change_path(sim);
    if (path->outage_s > 0)
        interrupt_path(sim);
    for (unsigned i = 0; i < sim->run->flow_count; i++)
        if (!sim->opened[i] && (double)sim->now >= sim->run->flows[i].start_s * SECOND_US)
            open_flow(sim, i);
    offer_cross_traffic(sim);
    release(sim);
    for (unsigned i = 0; i < 2; i++)
        look_into_inbox(sim, i);
    for (unsigned i = 0; i < 2; i++) {
        if (sim->hosts[i].woken || wake_at(sim, i) <= sim->now)
            drain(sim, i);
        sim->hosts[i].woken = false;
    }
}

/* ---- begin and end --------------------------------------------------------------------------------------------- */

static void make_hosts(struct sim *sim)
{
    netblt_config config;
    netblt_config_default(&config);
    if (sim->run->profile != NULL)
        config.profile = sim->run->profile;
    if (sim->run->trace)
        config.event = trace;
    for (unsigned i = 0; i < 2; i++) {
        struct host *host = &sim->hosts[i];
        if (sim->run->flows[0].receiver_opens)
            memset(config.secret, (int)i + 1, sizeof config.secret);
        host->endpoint = netblt_endpoint_new(&config);
        host->path.local = (netblt_address){1, {(uint8_t)(i + 1)}};
        host->path.foreign = (netblt_address){1, {(uint8_t)(2 - i)}};
        host->last_deadline = NETBLT_TIME_NEVER;
        host->wake_at = NETBLT_TIME_NEVER;
        for (unsigned k = 0; k < sim->run->flow_count; k++)
            sim->sides[k][i] = (struct side){.sim = sim, .flow = k};
    }
    netblt_listen(sim->hosts[sim->run->flows[0].receiver_opens ? 0 : 1].endpoint, LISTEN_PORT, accept_flow, sim);
}

static void fill_result(const struct sim *sim)
{
    struct path_result *result = sim->result;
    struct mark end;
    const struct mark *half = &sim->half;
    memset(&end, 0, sizeof end);
    take_mark(sim, &end);
    for (unsigned i = 0; i < sim->run->flow_count; i++) {
        struct flow_result *flow = &result->flows[i];
        const netblt_stats *sent = &end.sender[i].stats, *sent_half = &half->sender[i].stats;
        const netblt_stats *got = &end.receiver[i].stats, *got_half = &half->receiver[i].stats;
        flow->late_bytes = end.bytes[i] - half->bytes[i];
        flow->first_bytes = half->bytes[i];
        flow->late_packets = sent->data_packets_sent - sent_half->data_packets_sent;
        flow->late_sent_bytes = sent->bytes_sent - sent_half->bytes_sent;
        flow->late_duplicates = got->data_packets_duplicate - got_half->data_packets_duplicate;
        flow->late_received = got->data_packets_received - got_half->data_packets_received;
        flow->sender = end.sender[i];
        flow->receiver = end.receiver[i];
    }
    result->offered = end.offered - half->offered;
    result->queue_drops = end.queue_drops - half->queue_drops;
    result->socket_drops = end.socket_drops - half->socket_drops;
    result->whole_offered = end.offered;
    result->whole_drops = end.queue_drops + end.socket_drops;
    result->cross_offered = end.cross_offered - half->cross_offered;
    result->cross_delivered = end.cross_delivered - half->cross_delivered;
    result->seconds = (double)sim->now / SECOND_US;
}

static void free_sim(struct sim *sim)
{
    for (unsigned i = 0; i < 2; i++) {
        struct host *host = &sim->hosts[i];
        netblt_endpoint_free(host->endpoint);
        for (; host->count > 0; host->count--, host->head = (host->head + 1) % host->capacity)
            free(host->inbox[host->head].bytes);
        free(host->inbox);
    }
    flakeway_free(sim->engine);
    free(sim->memory);
    free(sim);
}

void path_run(const struct path_run *run, struct path_result *result)
{
    struct sim *sim = calloc(1, sizeof *sim);
    netblt_time end = (netblt_time)(run->seconds * SECOND_US), half = end / 2;
    uint32_t largest = 1;
    bool marked = false;
    *result = (struct path_result){0};
    sim->run = run;
    sim->result = result;
    sim->random = run->seed * 7919 + 1;
    sim->engine = flakeway_new(run->seed);
    for (unsigned i = 0; i < run->flow_count; i++)
        if (run->flows[i].params.buffer_size > largest)
            largest = run->flows[i].params.buffer_size;
    sim->memory = calloc(1, largest);
    make_hosts(sim);
    make_path(sim);
    while (sim->now < end && !(run->cross_mbit == 0 && all_done(sim))) {
        step(sim);
        netblt_time next = next_event(sim);
        if (!marked && next >= half) {
            marked = true;
            sim->now = sim->now > half ? sim->now : half;
            take_mark(sim, &sim->half);
        }
        sim->now = next > sim->now ? (next < end ? next : end) : sim->now;
    }
    fill_result(sim);
    free_sim(sim);
}
