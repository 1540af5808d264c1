/* SPDX-License-Identifier: BSD-2-Clause */
/* The scripted peer of one endpoint: see peer.h. */
#include "peer.h"

#include "check.h"

#include <string.h>

#define CAPACITY_BYTES (1 << 20)

/* ---- our client ------------------------------------------------------------------------------------------------ */

uint8_t peer_byte(uint64_t offset)
{
    return (uint8_t)(offset * 37 + offset / 251 + 11);
}

static enum netblt_send_buffer get_send_buffer(void *context, netblt_connection *connection, uint64_t index,
                                               uint32_t capacity, const uint8_t **data, uint32_t *length, bool *last)
{
    (void)connection;
    struct peer *peer = context;
    if (index >= peer->stall_from)
        return NETBLT_SEND_BUFFER_WAIT;
    uint64_t left = peer->size - index * capacity;
    *data = peer->data + index * capacity;
    *length = left < capacity ? (uint32_t)left : capacity;
    *last = peer->end_is_late ? left < capacity : left <= capacity;
    peer->held++;
    return NETBLT_SEND_BUFFER_READY;
}

static void release(void *context, netblt_connection *connection, uint64_t index, const uint8_t *data)
{
    (void)connection;
    (void)index;
    (void)data;
    ((struct peer *)context)->held--;
}

static uint8_t *get_receive_buffer(void *context, netblt_connection *connection, uint64_t index, uint32_t capacity)
{
    (void)connection;
    struct peer *peer = context;
    if (index >= peer->stall_from || (peer->client_buffers != 0 && peer->held >= peer->client_buffers))
        return NULL;
    peer->held++;
    return malloc(capacity);
}

static void deliver(void *context, netblt_connection *connection, uint64_t index, uint8_t *data, uint32_t length,
                    bool last)
{
    struct peer *peer = context;
    netblt_info info;
    netblt_get_info(connection, &info);
    uint64_t offset = index * info.negotiated.buffer_size;
    CHECK(offset + length <= CAPACITY_BYTES);
    if (length > 0)
        memcpy(peer->delivered + offset, data, length);
    peer->delivered_bytes += length;
    peer->deliveries++;
    peer->last_delivered_index = index;
    peer->last_was_delivered |= last;
    peer->held--;
    free(data);
}

static void discard(void *context, netblt_connection *connection, uint64_t index, uint8_t *data)
{
    (void)connection;
    (void)index;
    ((struct peer *)context)->held--;
    free(data);
}

static void opened(void *context, netblt_connection *connection)
{
    struct peer *peer = context;
    peer->connection = connection;
    peer->opened++;
}

static void finished(void *context, netblt_connection *connection, const netblt_outcome *outcome)
{
    struct peer *peer = context;
    peer->finished++;
    if (peer->quits_when_finished)
        CHECK_EQUAL(netblt_quit(connection, "too late", peer->now), NETBLT_ERR_WRONG_STATE);
    peer->result = outcome->result;
    snprintf(peer->reason, sizeof peer->reason, "%s", outcome->reason);
    CHECK_EQUAL(peer->held, 0);
}

static void closed(void *context, netblt_connection *connection)
{
    struct peer *peer = context;
    netblt_get_info(connection, &peer->info);
    peer->closed++;
    peer->connection = NULL;
}

const netblt_client peer_client = {
    .size = sizeof(netblt_client),
    .get_send_buffer = get_send_buffer,
    .release = release,
    .get_receive_buffer = get_receive_buffer,
    .deliver = deliver,
    .discard = discard,
    .opened = opened,
    .finished = finished,
    .closed = closed,
};

static const netblt_client *client_of(const struct peer *peer)
{
    return peer->client == NULL ? &peer_client : peer->client;
}

static void on_request(void *context, const netblt_request *request, netblt_answer *answer)
{
    struct peer *peer = context;
    peer->requests++;
    answer->accept = !peer->refuse && !peer->ignore;
    answer->silent = peer->ignore;
    snprintf(answer->reason, sizeof answer->reason, "%s", peer->refusal == NULL ? "no, thank you" : peer->refusal);
    answer->limits = peer->params;
    answer->client = client_of(peer);
    answer->context = peer;
    answer->options = peer->options;
    if (request->role != peer->role)
        answer->accept = false;
}

/* ---- running --------------------------------------------------------------------------------------------------- */

/* What every packet of ours must fulfil: WIRE-02..07, WIRE-13, CKSUM-01..03. */
static void check_emission(const struct peer *peer, const uint8_t *bytes, size_t size)
{
    CHECK(size >= 12);
    unsigned length = peer_get16(bytes + 4);
    bool is_data = bytes[3] == DATA || bytes[3] == LDATA;
    CHECK(bytes[3] <= DONE);
    CHECK(length <= size && size % 4 == 0 && size - length < 4);
    CHECK(is_data || length == size);
    CHECK_EQUAL(peer_sum(bytes, is_data ? 24 : length), 0);
    CHECK_EQUAL(peer_get16(bytes + 6), peer->our_port);
    CHECK_EQUAL(bytes[2], peer->active ? 2 : peer->version); /* AMB-01: a passive end echoes */
    for (size_t i = length; i < size; i++)
        CHECK_EQUAL(bytes[i], 0);
}

static void record(struct peer *peer, const uint8_t *bytes, size_t size, uint8_t destination)
{
    check_emission(peer, bytes, size);
    if ((peer->seen_count & (peer->seen_count - 1)) == 0) {
        struct seen *larger = realloc(peer->seen, (peer->seen_count * 2 + 1) * sizeof *larger);
        CHECK(larger != NULL);
        peer->seen = larger;
    }
    struct seen *seen = &peer->seen[peer->seen_count++];
    *seen = (struct seen){.at = peer->now, .type = bytes[3], .length = peer_get16(bytes + 4), .size = (unsigned)size};
    seen->source = destination;
    seen->bytes = malloc(size);
    memcpy(seen->bytes, bytes, size);
    if (seen->type == DATA || seen->type == LDATA) {
        seen->buffer = peer_get32(bytes + 12);
        seen->high_seq = peer_get16(bytes + 16);
        seen->packet = peer_get16(bytes + 18);
        seen->last_buffer = (bytes[23] & 1) != 0;
        CHECK_EQUAL(peer_get16(bytes + 22) & 0xFFFE, 0);
    } else if (seen->type == NULL_ACK) {
        CHECK_EQUAL(size, 20);
        seen->high_seq = peer_get16(bytes + 12);
    }
}

static void collect(struct peer *peer)
{
    static uint8_t packets[NETBLT_PACKET_MAX_BYTES];
    netblt_output output;
    if (peer->held_up)
        return;
    while (netblt_output_burst(peer->endpoint, packets, sizeof packets, &output, peer->now) > 0) {
        for (size_t offset = 0; offset < output.length; offset += output.segment_bytes) {
            size_t left = output.length - offset;
            record(peer, packets + offset, left < output.segment_bytes ? left : output.segment_bytes,
                   output.path.foreign.bytes[3]);
        }
    }
}

void peer_wait(struct peer *peer, netblt_time us)
{
    netblt_time until = peer->now + us;
    for (;;) {
        netblt_time deadline = netblt_deadline(peer->endpoint);
        if (deadline > until)
            break;
        if (deadline > peer->now)
            peer->now = deadline;
        netblt_timeout(peer->endpoint, peer->now);
        collect(peer);
    }
    peer->now = until;
}

void peer_init(struct peer *peer, enum netblt_role role, bool active)
{
    *peer = (struct peer){
        .role = role,
        .active = active,
        .params = {.buffer_size = 400,
                   .packet_size = 100,
                   .burst_size = 1000,
                   .burst_interval_ms = 0,
                   .death_timer_s = 60,
                   .max_buffers = 2},
        .profile = netblt_profile_default,
        .size = 800,
        .stall_from = UINT64_MAX,
        .now = 5000000,
        .unique_id = 0x1234ABCD,
        .from = 2,
        .peer_port = 7000,
        .our_port = 1,
        .version = 2,
    };
}

static netblt_path path_of(const struct peer *peer)
{
    netblt_path path = {.local = {4, {10, 0, 0, 1}}, .foreign = {4, {10, 0, 0, 0}}};
    path.foreign.bytes[3] = peer->from;
    return path;
}

void peer_start(struct peer *peer)
{
    netblt_config config;
    netblt_config_default(&config);
    config.profile = &peer->profile;
    config.first_buffer = peer->first_buffer;
    config.unvalidated_bytes_per_s = peer->unvalidated_bytes_per_s;
    config.unvalidated_connections = peer->unvalidated_connections;
    memcpy(config.secret, peer->secret, sizeof config.secret);
    config.event = peer->event;
    config.event_context = peer->event_context;
    config.log = peer->log;
    config.log_context = peer;
    config.allocator = peer->allocator;
    peer->data = malloc(CAPACITY_BYTES);
    peer->delivered = calloc(1, CAPACITY_BYTES);
    for (size_t i = 0; i < CAPACITY_BYTES; i++)
        peer->data[i] = peer_byte(i);
    peer->endpoint = netblt_endpoint_new(&config);
    if (peer->active) {
        netblt_path path = path_of(peer);
        CHECK_EQUAL(netblt_open(peer->endpoint,
                                &(netblt_open_args){.size = sizeof(netblt_open_args),
                                                    .path = &path,
                                                    .local_port = peer->our_port,
                                                    .foreign_port = peer->peer_port,
                                                    .role = peer->role,
                                                    .unique_id = peer->unique_id,
                                                    .params = &peer->params,
                                                    .client = client_of(peer),
                                                    .context = peer,
                                                    .options = peer->options},
                                peer->now, &peer->connection),
                    0);
    } else {
        CHECK_EQUAL(netblt_listen(peer->endpoint, peer->our_port, on_request, peer), 0);
    }
    collect(peer);
}

int peer_send_raw(struct peer *peer, const void *bytes, size_t size)
{
    netblt_path path = path_of(peer);
    uint8_t *exact = malloc(size);
    memcpy(exact, bytes, size);
    int error = netblt_input(peer->endpoint, &path, exact, size, size, peer->now);
    free(exact);
    collect(peer);
    return error;
}

int peer_send(struct peer *peer, struct forged *packet)
{
    forged_put16(packet, 4, (unsigned)packet->length);
    forged_put16(packet, 0, 0);
    forged_put16(packet, 0, peer_sum(packet->bytes, packet->covered == 0 ? packet->length : packet->covered));
    return peer_send_raw(peer, packet->bytes, packet->size == 0 ? packet->length : packet->size);
}

void peer_go(struct peer *peer, unsigned seq, uint32_t buffer)
{
    struct forged packet;
    forge(peer, &packet, CONTROL);
    forge_go(&packet, seq, buffer);
    CHECK_EQUAL(peer_send(peer, &packet), 0);
}

void peer_ok(struct peer *peer, unsigned seq, uint32_t buffer)
{
    struct forged packet;
    forge(peer, &packet, CONTROL);
    forge_ok(&packet, seq, buffer, peer->params.burst_size, peer->params.burst_interval_ms, 100);
    CHECK_EQUAL(peer_send(peer, &packet), 0);
}

void peer_resend(struct peer *peer, unsigned seq, uint32_t buffer, const uint16_t *packets, unsigned count)
{
    struct forged packet;
    forge(peer, &packet, CONTROL);
    forge_resend(&packet, seq, buffer, packets, count);
    CHECK_EQUAL(peer_send(peer, &packet), 0);
}

void peer_bare(struct peer *peer, int type)
{
    struct forged packet;
    forge(peer, &packet, type);
    CHECK_EQUAL(peer_send(peer, &packet), 0);
}

void peer_reason(struct peer *peer, int type, const char *reason)
{
    struct forged packet;
    forge_reason(peer, &packet, type, reason);
    CHECK_EQUAL(peer_send(peer, &packet), 0);
}

void peer_null_ack(struct peer *peer, unsigned high_seq)
{
    struct forged packet;
    forge_null_ack(peer, &packet, high_seq, peer->params.burst_size, peer->params.burst_interval_ms);
    CHECK_EQUAL(peer_send(peer, &packet), 0);
}

void peer_data(struct peer *peer, uint32_t buffer, unsigned number, unsigned high_seq, bool last_buffer)
{
    struct forged packet;
    uint64_t offset = (uint64_t)(buffer - peer->first_buffer) * 400 + number * 100;
    forge_data(peer, &packet, number == 3 ? LDATA : DATA, buffer, number, high_seq, last_buffer, peer->data + offset,
               100, peer->params.data_checksum);
    CHECK_EQUAL(peer_send(peer, &packet), 0);
}

void peer_open(struct peer *peer)
{
    struct forged packet;
    peer_start(peer);
    bool we_send = peer->role == NETBLT_SENDER;
    forge_open(peer, &packet, peer->active ? RESPONSE : OPEN, &peer->params, we_send == peer->active);
    CHECK_EQUAL(peer_send(peer, &packet), 0);
    CHECK_EQUAL(peer->opened, 1);
}

void peer_free(struct peer *peer)
{
    if (peer->connection != NULL) /* the client gets its memory back */
        netblt_abort(peer->connection, "the test is over", peer->now);
    netblt_endpoint_free(peer->endpoint);
    for (size_t i = 0; i < peer->seen_count; i++)
        free(peer->seen[i].bytes);
    free(peer->seen);
    free(peer->data);
    free(peer->delivered);
}

/* ---- looking --------------------------------------------------------------------------------------------------- */

void peer_mark(struct peer *peer)
{
    peer->mark = peer->seen_count;
}

static const struct seen *find(const struct peer *peer, int type, size_t n)
{
    for (size_t i = peer->mark; i < peer->seen_count; i++)
        if ((type < 0 || peer->seen[i].type == type) && n-- == 0)
            return &peer->seen[i];
    return NULL;
}

size_t peer_count(const struct peer *peer, int type)
{
    size_t count = 0;
    while (find(peer, type, count) != NULL)
        count++;
    return count;
}

const struct seen *peer_nth(const struct peer *peer, int type, size_t n)
{
    const struct seen *seen = find(peer, type, n);
    if (seen == NULL)
        fprintf(stderr, "no packet number %zu of type %d was sent\n", n, type);
    CHECK(seen != NULL);
    return seen;
}

const struct seen *peer_last(const struct peer *peer, int type)
{
    size_t count = peer_count(peer, type);
    return peer_nth(peer, type, count == 0 ? 0 : count - 1);
}

static bool is_data(const struct seen *seen)
{
    return seen->type == DATA || seen->type == LDATA;
}

size_t peer_count_data(const struct peer *peer)
{
    return peer_count(peer, DATA) + peer_count(peer, LDATA);
}

const struct seen *peer_nth_data(const struct peer *peer, size_t n)
{
    for (size_t i = peer->mark; i < peer->seen_count; i++)
        if (is_data(&peer->seen[i]) && n-- == 0)
            return &peer->seen[i];
    CHECK(!"as many data packets were sent");
    return NULL;
}

size_t peer_times_sent(const struct peer *peer, uint32_t buffer, unsigned packet)
{
    size_t count = 0;
    for (size_t i = peer->mark; i < peer->seen_count; i++)
        count += is_data(&peer->seen[i]) && peer->seen[i].buffer == buffer && peer->seen[i].packet == packet;
    return count;
}

size_t peer_messages(const struct seen *control, struct message *messages, size_t room)
{
    static const unsigned fixed[] = {8, 16, 12};
    size_t count = 0;
    unsigned at = 12;
    while (at < control->length) {
        const uint8_t *bytes = control->bytes + at;
        CHECK(count < room && bytes[0] <= RESEND && at + fixed[bytes[0]] <= control->length);
        struct message *message = &messages[count++];
        *message = (struct message){.type = bytes[0], .seq = peer_get16(bytes + 2), .buffer = peer_get32(bytes + 4)};
        if (message->type == OK) {
            message->burst_size = peer_get16(bytes + 8);
            message->burst_interval_ms = peer_get16(bytes + 10);
            message->control_timer_ms = peer_get16(bytes + 12);
        }
        at += fixed[message->type];
        if (message->type == RESEND) {
            message->count = peer_get16(bytes + 8);
            CHECK(message->count > 0 && message->count <= 1024);
            for (unsigned i = 0; i < message->count; i++)
                message->packets[i] = (uint16_t)peer_get16(bytes + 12 + 2 * i);
            at += (message->count + 1) / 2 * 4;
        }
    }
    CHECK_EQUAL(at, control->length); /* WIRE-12: no residue */
    for (size_t i = 1; i < count; i++)
        CHECK_EQUAL(messages[i].seq, (messages[i - 1].seq + 1) % 65536); /* CTRL-03 */
    return count;
}

size_t peer_last_messages(const struct peer *peer, struct message *messages, size_t room)
{
    return peer_messages(peer_last(peer, CONTROL), messages, room);
}

const netblt_info *peer_info(struct peer *peer)
{
    if (peer->connection != NULL)
        netblt_get_info(peer->connection, &peer->info);
    return &peer->info;
}

bool peer_delivered_exactly(const struct peer *peer, uint64_t bytes)
{
    if (peer->delivered_bytes != bytes)
        return false;
    for (uint64_t i = 0; i < bytes; i++)
        if (peer->delivered[i] != peer_byte(i))
            return false;
    return true;
}
