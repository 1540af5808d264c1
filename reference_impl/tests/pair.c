/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs one whole transfer between two endpoints over a bad link, in virtual time: see pair.h. */
#include "pair.h"

#include "check.h"
#include "random.h"

#include <string.h>
#ifdef NETBLT_TESTS_FLAKEWAY
#include <flakeway.h>
#endif

#define PORT 1
#define CLIENT_PORT 40000

/* A packet on its way. */
struct flight {
    struct flight *next;
    netblt_time at;
    uint64_t order; /* packets due at the same time arrive in the order in which they were sent */
    int to;
    size_t length;
    uint8_t packet[];
};

struct pair;

struct end {
    struct pair *pair;
    netblt_endpoint *endpoint;
    netblt_connection *connection;
    bool sends;
    bool accepted;
    int finished;
    int closed;
    enum netblt_result result;
    char reason[NETBLT_STRING_MAX_BYTES + 1];
    netblt_stats stats;
    bool stalled;
    netblt_time resume_at;
    bool complete;  /* receiver: `complete` was called ... */
    bool confirmed; /* ... and netblt_confirm() or netblt_abort() followed */
    netblt_time confirm_at;
    uint64_t held; /* buffers that the core holds */
    uint64_t next; /* index that get_send_buffer or deliver must name next */
};

struct pair {
    const struct pair_case *c;
    struct random random;
    struct end ends[2];     /* [0] active */
    struct flight *flights; /* by time */
    struct flight *last_flight;
    struct flakeway *engine; /* instead of them */
    uint64_t order;
    netblt_time now;
    uint8_t *data; /* what is sent */
    uint8_t *delivered;
    uint64_t delivered_bytes;
    uint64_t delivered_buffers;
    uint64_t last_index;
    bool last_delivered;
    uint32_t buffer_size;
    netblt_params negotiated;
    netblt_profile profile;
};

static void fail(const struct pair *pair, const char *why)
{
    fprintf(stderr, "seed %llu, t=%llu us: %s\n", (unsigned long long)pair->c->seed, (unsigned long long)pair->now,
            why);
    for (int i = 0; i < 2; i++)
        fprintf(stderr, "  %s %s: finished %d (%s: %s), closed %d\n", i == 0 ? "active" : "passive",
                pair->ends[i].sends ? "sender" : "receiver", pair->ends[i].finished,
                netblt_result_name(pair->ends[i].result), pair->ends[i].reason, pair->ends[i].closed);
    abort();
}

static void must(const struct pair *pair, bool condition, const char *why)
{
    if (!condition)
        fail(pair, why);
}

/* ---- clients --------------------------------------------------------------------------------------------------- */

static bool stalls(struct end *end)
{
    if (!random_chance(&end->pair->random, end->pair->c->stall_permille))
        return false;
    end->stalled = true;
    end->resume_at = end->pair->now + 1 + random_below(&end->pair->random, 300000);
    return true;
}

static enum netblt_send_buffer get_send_buffer(void *context, netblt_connection *connection, uint64_t index,
                                               uint32_t capacity, const uint8_t **data, uint32_t *length, bool *last)
{
    (void)connection;
    struct end *end = context;
    struct pair *pair = end->pair;
    must(pair, end->sends && index == end->next, "get_send_buffer was asked for the wrong buffer");
    if (stalls(end))
        return NETBLT_SEND_BUFFER_WAIT;
    uint64_t offset = index * capacity;
    uint64_t left = pair->c->size - offset;
    *data = pair->data + offset;
    *length = left < capacity ? (uint32_t)left : capacity;
    *last = pair->c->end_is_late ? left < capacity : left <= capacity;
    end->next++;
    end->held++;
    return NETBLT_SEND_BUFFER_READY;
}

static void release(void *context, netblt_connection *connection, uint64_t index, const uint8_t *data)
{
    (void)connection;
    struct end *end = context;
    must(end->pair, data == end->pair->data + index * end->pair->buffer_size, "released memory of another buffer");
    end->held--;
}

static uint8_t *get_receive_buffer(void *context, netblt_connection *connection, uint64_t index, uint32_t capacity)
{
    (void)connection;
    (void)index;
    struct end *end = context;
    if (end->pair->c->client_buffers != 0 && end->held >= end->pair->c->client_buffers)
        return NULL; /* deliver will make room, without netblt_resume() */
    if (stalls(end))
        return NULL;
    end->held++;
    return malloc(capacity);
}

static void deliver(void *context, netblt_connection *connection, uint64_t index, uint8_t *data, uint32_t length,
                    bool last)
{
    (void)connection;
    struct end *end = context;
    struct pair *pair = end->pair;
    must(pair, pair->c->any_order || index == end->next, "delivered out of order");
    uint64_t offset = index * pair->buffer_size;
    must(pair, offset + length <= pair->c->size, "delivered more than was sent");
    if (length > 0)
        memcpy(pair->delivered + offset, data, length);
    if (last) {
        pair->last_delivered = true;
        pair->last_index = index;
    }
    pair->delivered_bytes += length;
    pair->delivered_buffers++;
    end->next++;
    end->held--;
    free(data);
}

static void complete(void *context, netblt_connection *connection)
{
    (void)connection;
    struct end *end = context;
    struct pair *pair = end->pair;
    must(pair, !end->sends && !end->complete, "complete was called twice, or for the sender");
    must(pair, pair->delivered_bytes == pair->c->size, "complete was called before the last deliver");
    end->complete = true;
    end->confirm_at = pair->now + pair->c->confirm_after_us;
}

static void discard(void *context, netblt_connection *connection, uint64_t index, uint8_t *data)
{
    (void)connection;
    (void)index;
    struct end *end = context;
    end->held--;
    free(data);
}

static void opened(void *context, netblt_connection *connection)
{
    struct end *end = context;
    netblt_info info;
    end->connection = connection;
    netblt_get_info(connection, &info);
    end->pair->buffer_size = info.negotiated.buffer_size;
    end->pair->negotiated = info.negotiated;
    if (end->pair->c->opened != NULL)
        end->pair->c->opened(end->pair->c->opened_context, connection);
}

static void finished(void *context, netblt_connection *connection, const netblt_outcome *outcome)
{
    (void)connection;
    struct end *end = context;
    end->finished++;
    end->result = outcome->result;
    snprintf(end->reason, sizeof end->reason, "%s", outcome->reason);
    must(end->pair, end->held == 0, "finished while the core still held memory");
    if (outcome->result == NETBLT_DONE && end->pair->c->confirm_end)
        must(end->pair, end->pair->ends[0].confirmed || end->pair->ends[1].confirmed, "success before confirmation");
}

static void closed(void *context, netblt_connection *connection)
{
    struct end *end = context;
    netblt_info info;
    netblt_get_info(connection, &info);
    end->stats = info.stats;
    end->connection = NULL;
    must(end->pair, end->finished == 1, "closed before finished");
    end->closed++;
}

static const netblt_client client = {
    .size = sizeof(netblt_client),
    .get_send_buffer = get_send_buffer,
    .release = release,
    .get_receive_buffer = get_receive_buffer,
    .deliver = deliver,
    .complete = complete,
    .discard = discard,
    .opened = opened,
    .finished = finished,
    .closed = closed,
};

static void accept_all(void *context, const netblt_request *request, netblt_answer *answer)
{
    struct end *end = context;
    must(end->pair, (request->role == NETBLT_SENDER) == end->sends, "the wrong role was asked for");
    must(end->pair, !end->accepted, "a copy of OPEN began another transfer"); /* time_wait.h */
    end->accepted = true;
    answer->accept = true;
    answer->limits = end->pair->c->passive;
    answer->client = &client;
    answer->context = end;
    answer->options.any_order = end->pair->c->any_order;
    answer->options.confirm_end = end->pair->c->confirm_end;
    answer->options.rate = end->pair->c->auto_rate ? NETBLT_RATE_AUTO : NETBLT_RATE_FIXED;
}

/* ---- link ------------------------------------------------------------------------------------------------------ */

/* What a 16-bit ones-complement sum must detect: changed bits that all lie within 15 that follow one another. */
static void corrupt_burst(struct random *random, uint8_t *packet, size_t length)
{
    size_t bits = 2 + random_below(random, 14);
    size_t first = random_below(random, length * 8 - bits);
    for (size_t i = 0; i < bits; i++)
        if (i == 0 || i + 1 == bits || random_chance(random, 500))
            packet[(first + i) / 8] ^= (uint8_t)(0x80u >> (first + i) % 8);
}

static void launch(struct pair *pair, int to, const uint8_t *packet, size_t length)
{
    const struct pair_faults *faults = &pair->c->faults[to == 1 ? 0 : 1];
    struct flight *flight = malloc(sizeof *flight + length);
    CHECK(flight != NULL);
    memcpy(flight->packet, packet, length);
    flight->length = length;
    flight->to = to;
    flight->order = pair->order++;
    flight->at = pair->now + faults->delay_us;
    if (faults->jitter_us > 0)
        flight->at += random_below(&pair->random, faults->jitter_us);
    if (random_chance(&pair->random, faults->corrupt_permille))
        flight->packet[random_below(&pair->random, length)] ^= (uint8_t)(1u << random_below(&pair->random, 8));
    if (random_chance(&pair->random, faults->burst_permille))
        corrupt_burst(&pair->random, flight->packet, length);
    struct flight **at = &pair->flights;
    if (pair->flights != NULL && pair->last_flight->at <= flight->at)
        at = &pair->last_flight->next;
    while (*at != NULL && ((*at)->at < flight->at || ((*at)->at == flight->at && (*at)->order < flight->order)))
        at = &(*at)->next;
    flight->next = *at;
    *at = flight;
    if (flight->next == NULL)
        pair->last_flight = flight;
}

#ifdef NETBLT_TESTS_FLAKEWAY

bool pair_has_flakeway(void)
{
    return true;
}

static void add_rate(struct pair *pair, const char *format, double value, int from)
{
    char text[FLAKEWAY_RULE_TEXT_BYTES];
    flakeway_error error;
    snprintf(text, sizeof text, format, value, from == 0 ? "a>b" : "b>a");
    if (value > 0 && flakeway_add(pair->engine, text, &error) != 0) {
        fprintf(stderr, "%s: %s\n", text, error.message);
        abort();
    }
}

static void start_engine(struct pair *pair)
{
    pair->engine = flakeway_new(pair->c->seed);
    CHECK(pair->engine != NULL);
    for (int from = 0; from < 2; from++) {
        const struct pair_faults *faults = &pair->c->faults[from];
        add_rate(pair, "loss %.1f%% %s", faults->loss_permille / 10.0, from);
        add_rate(pair, "duplicate %.1f%% %s gap=1ms", faults->duplicate_permille / 10.0, from);
        add_rate(pair, "corrupt %.1f%% %s", faults->corrupt_permille / 10.0, from);
        add_rate(pair, "latency %.0fus %s", (double)faults->delay_us, from);
        if (faults->jitter_us > 0) { /* every fifth packet, by as much as our own network's jitter at most */
            char text[FLAKEWAY_RULE_TEXT_BYTES];
            snprintf(text, sizeof text, "reorder 20%% %s by %lluus", from == 0 ? "a>b" : "b>a",
                     (unsigned long long)faults->jitter_us);
            CHECK_EQUAL(flakeway_add(pair->engine, text, NULL), 0);
        }
    }
}

static void offer(struct pair *pair, int from, const uint8_t *packet, size_t length)
{
    flakeway_packet offered = {.bytes = packet, .length = length, .netblt_length = length};
    CHECK(flakeway_offer(pair->engine, from == 0 ? FLAKEWAY_A_TO_B : FLAKEWAY_B_TO_A, &offered, pair->now) != 0);
}

static bool take_released(struct pair *pair, int *to, uint8_t *packet, size_t *length)
{
    flakeway_released released;
    if (!flakeway_release(pair->engine, pair->now, &released))
        return false;
    *to = released.direction == FLAKEWAY_A_TO_B ? 1 : 0;
    *length = released.packet.length;
    memcpy(packet, released.packet.bytes, *length);
    return true;
}

static netblt_time engine_deadline(const struct pair *pair)
{
    return flakeway_deadline(pair->engine);
}

static void stop_engine(struct pair *pair)
{
    flakeway_free(pair->engine);
}

#else

bool pair_has_flakeway(void)
{
    return false;
}

static void start_engine(struct pair *pair)
{
    fail(pair, "built without the flakeway");
}

static void offer(struct pair *pair, int from, const uint8_t *packet, size_t length)
{
    (void)pair, (void)from, (void)packet, (void)length;
}

static bool take_released(struct pair *pair, int *to, uint8_t *packet, size_t *length)
{
    (void)pair, (void)to, (void)packet, (void)length;
    return false;
}

static netblt_time engine_deadline(const struct pair *pair)
{
    (void)pair;
    return NETBLT_TIME_NEVER;
}

static void stop_engine(struct pair *pair)
{
    (void)pair;
}

#endif

static void send_packet(struct pair *pair, int from, const uint8_t *packet, size_t length)
{
    const struct pair_faults *faults = &pair->c->faults[from];
    if (pair->c->watch != NULL)
        pair->c->watch(pair->c->watch_context, from, packet, length, pair->now);
    if (pair->c->flakeway) {
        uint8_t changed[NETBLT_PACKET_MAX_BYTES + 3];
        memcpy(changed, packet, length);
        if (random_chance(&pair->random, faults->burst_permille)) /* which the flakeway itself does not offer */
            corrupt_burst(&pair->random, changed, length);
        offer(pair, from, changed, length);
        return;
    }
    if (random_chance(&pair->random, faults->loss_permille))
        return;
    launch(pair, 1 - from, packet, length);
    if (random_chance(&pair->random, faults->duplicate_permille))
        launch(pair, 1 - from, packet, length);
}

static netblt_path path_of(int end)
{
    netblt_path path = {.local = {4, {10, 0, 0, 1}}, .foreign = {4, {10, 0, 0, 1}}};
    path.local.bytes[3] = (uint8_t)(1 + end);
    path.foreign.bytes[3] = (uint8_t)(2 - end);
    return path;
}

static void drain_output(struct pair *pair, int end)
{
    static uint8_t packets[NETBLT_PACKET_MAX_BYTES];
    netblt_output output;
    size_t bytes;
    while ((bytes = netblt_output_burst(pair->ends[end].endpoint, packets, sizeof packets, &output, pair->now)) > 0) {
        must(pair, bytes == output.length && output.count > 0, "output describes itself wrongly");
        must(pair, (output.length + output.segment_bytes - 1) / output.segment_bytes == output.count,
             "a run is not made of equal segments");
        for (size_t offset = 0; offset < bytes; offset += output.segment_bytes) {
            size_t left = bytes - offset;
            send_packet(pair, end, packets + offset, left < output.segment_bytes ? left : output.segment_bytes);
        }
    }
}

static void arrive(struct pair *pair)
{
    static uint8_t packet[NETBLT_PACKET_MAX_BYTES + 3];
    size_t length;
    int to;
    while (pair->c->flakeway && take_released(pair, &to, packet, &length)) {
        netblt_path path = path_of(to);
        uint8_t *exact = malloc(length); /* so that the sanitizer sees a step beyond */
        memcpy(exact, packet, length);
        netblt_input(pair->ends[to].endpoint, &path, exact, length, length, pair->now);
        free(exact);
    }
    while (pair->flights != NULL && pair->flights->at <= pair->now) {
        struct flight *flight = pair->flights;
        netblt_path path = path_of(flight->to);
        pair->flights = flight->next;
        netblt_input(pair->ends[flight->to].endpoint, &path, flight->packet, flight->length, flight->length, pair->now);
        free(flight);
    }
}

/* ---- running --------------------------------------------------------------------------------------------------- */

static bool owes_confirmation(const struct end *end)
{
    return end->pair->c->confirm_end && end->complete && !end->confirmed && end->connection != NULL;
}

static netblt_time next_event(const struct pair *pair)
{
    netblt_time next = pair->flights == NULL ? NETBLT_TIME_NEVER : pair->flights->at;
    if (pair->c->flakeway)
        next = engine_deadline(pair);
    for (int i = 0; i < 2; i++) {
        const struct end *end = &pair->ends[i];
        netblt_time deadline = netblt_deadline(end->endpoint);
        next = deadline < next ? deadline : next;
        if (end->stalled && end->connection != NULL && end->resume_at < next)
            next = end->resume_at;
        if (owes_confirmation(end) && end->confirm_at < next)
            next = end->confirm_at;
    }
    return next;
}

static void confirm(struct pair *pair, struct end *end)
{
    end->confirmed = true;
    if (pair->c->abort_at_end)
        CHECK_EQUAL(netblt_abort(end->connection, "no space left", pair->now), 0);
    else
        CHECK_EQUAL(netblt_confirm(end->connection, pair->now), 0);
}

static void wake_clients(struct pair *pair)
{
    for (int i = 0; i < 2; i++) {
        struct end *end = &pair->ends[i];
        if (end->stalled && end->connection != NULL && end->resume_at <= pair->now) {
            end->stalled = false;
            netblt_resume(end->connection, pair->now);
        }
        if (owes_confirmation(end) && end->confirm_at <= pair->now)
            confirm(pair, end);
    }
}

static void start(struct pair *pair)
{
    netblt_config config;
    /* Patient enough that even a very lossy link opens: these transfers are to end well, every one. */
    netblt_profile profile = netblt_profile_default;
    profile.open_retry_us = 10000;
    profile.open_attempts = 14;
    profile.dally_min_us = 120000000; /* a dally of twice the control timer outlives one lost OK, not many */
    pair->profile = profile;
    netblt_config_default(&config);
    config.profile = &pair->profile;
    config.first_buffer = pair->c->first_buffer;
    config.event = pair->c->observe;
    for (int i = 0; i < 2; i++) {
        config.event_context = pair->c->observe_context[i];
        for (unsigned k = 0; k < NETBLT_SECRET_BYTES && !pair->c->secretless; k++)
            config.secret[k] = (uint8_t)(random_next(&pair->random) | 1);
        pair->ends[i].pair = pair;
        pair->ends[i].sends = pair->c->active_sends == (i == 0);
        pair->ends[i].endpoint = netblt_endpoint_new(&config);
        CHECK(pair->ends[i].endpoint != NULL);
    }
    CHECK_EQUAL(netblt_listen(pair->ends[1].endpoint, PORT, accept_all, &pair->ends[1]), 0);
    netblt_path path = path_of(0);
    netblt_options options = {
        .any_order = pair->c->any_order,
        .confirm_end = pair->c->confirm_end,
        .rate = pair->c->auto_rate ? NETBLT_RATE_AUTO : NETBLT_RATE_FIXED,
    };
    enum netblt_role role = pair->c->active_sends ? NETBLT_SENDER : NETBLT_RECEIVER;
    CHECK_EQUAL(netblt_open(pair->ends[0].endpoint,
                            &(netblt_open_args){.size = sizeof(netblt_open_args),
                                                .path = &path,
                                                .local_port = CLIENT_PORT,
                                                .foreign_port = PORT,
                                                .role = role,
                                                .unique_id = (uint32_t)pair->c->seed,
                                                .params = &pair->c->active,
                                                .client = &client,
                                                .context = &pair->ends[0],
                                                .options = options},
                            pair->now, &pair->ends[0].connection),
                0);
}

static void verify(struct pair *pair)
{
    for (int i = 0; i < 2; i++) {
        const struct end *end = &pair->ends[i];
        must(pair, end->finished == 1 && end->closed == 1, "a client was not told the end exactly once");
        if (pair->c->abort_at_end)
            must(pair, end->result != NETBLT_DONE, "a transfer whose receiver aborted at the end succeeded");
        else
            must(pair, end->result == NETBLT_DONE, "a transfer did not succeed");
        must(pair, end->sends || end->complete, "complete was not called");
        must(pair, end->held == 0, "memory was not given back");
        must(pair, netblt_deadline(end->endpoint) == NETBLT_TIME_NEVER, "a timer is left");
    }
    must(pair, pair->delivered_bytes == pair->c->size, "another number of bytes was delivered");
    must(pair, pair->c->size == 0 || memcmp(pair->data, pair->delivered, pair->c->size) == 0, "bytes differ");
    must(pair, pair->last_delivered && pair->last_index + 1 == pair->delivered_buffers, "the last buffer was not told");
}

static void step(struct pair *pair)
{
    netblt_time next = next_event(pair);
    must(pair, next != NETBLT_TIME_NEVER, "nothing will ever happen again, and it is not over");
    if (next > pair->now)
        pair->now = next;
    must(pair, pair->now < pair->c->limit_us, "it takes too long");
    arrive(pair);
    wake_clients(pair);
    for (int i = 0; i < 2; i++) {
        netblt_timeout(pair->ends[i].endpoint, pair->now);
        drain_output(pair, i);
    }
}

void pair_case_default(struct pair_case *c)
{
    *c = (struct pair_case){
        .seed = 1,
        .active_sends = true,
        .size = 100000,
        .limit_us = UINT64_C(4000000000),
        .faults = {{.delay_us = 5000}, {.delay_us = 5000}},
    };
    netblt_params_default(&c->active);
    c->active.buffer_size = 10000;
    c->active.packet_size = 1000;
    c->active.max_buffers = 3;
    c->passive = c->active;
}

void pair_run(const struct pair_case *c, struct pair_result *result)
{
    struct pair pair = {.c = c, .random = {c->seed}, .now = 1000000, .buffer_size = 1};
    /* Exactly as long as needed, so that the sanitizer sees every step beyond. */
    pair.data = malloc(c->size + 1);
    pair.delivered = calloc(1, c->size + 1);
    CHECK(pair.data != NULL && pair.delivered != NULL);
    for (uint64_t i = 0; i < c->size; i++)
        pair.data[i] = (uint8_t)random_next(&pair.random);
    if (c->flakeway)
        start_engine(&pair);
    start(&pair);
    for (int i = 0; i < 2; i++)
        drain_output(&pair, i);
    while (pair.ends[0].closed == 0 || pair.ends[1].closed == 0)
        step(&pair);
    drain_output(&pair, 0);
    drain_output(&pair, 1);
    verify(&pair);
    if (result != NULL) {
        *result = (struct pair_result){.sender = pair.ends[c->active_sends ? 0 : 1].stats,
                                       .receiver = pair.ends[c->active_sends ? 1 : 0].stats,
                                       .negotiated = pair.negotiated,
                                       .ended_at = pair.now};
    }
    for (int i = 0; i < 2; i++)
        netblt_endpoint_free(pair.ends[i].endpoint);
    while (pair.flights != NULL) {
        struct flight *flight = pair.flights;
        pair.flights = flight->next;
        free(flight);
    }
    if (c->flakeway)
        stop_engine(&pair);
    free(pair.data);
    free(pair.delivered);
}
