/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests of how much memory a connection takes. The client's buffers are counted separately. */
#include "check.h"
#include "counted_memory.h"
#include "peer.h"
#include "random.h"

#include <string.h>

/* ---- two ends, and a network that only loses ------------------------------------------------------------------- */

struct side {
    uint64_t size, held, held_peak, buffer_size;
    int closed;
    enum netblt_result result;
    uint32_t memory_given;
};

static uint8_t client_memory[1 << 21]; /* all buffers lie in the same place: what arrives does not matter here */

static void hold(struct side *side, uint64_t bytes)
{
    side->held += bytes;
    side->held_peak = side->held > side->held_peak ? side->held : side->held_peak;
}

static enum netblt_send_buffer get_send_buffer(void *context, netblt_connection *connection, uint64_t index,
                                               uint32_t capacity, const uint8_t **data, uint32_t *length, bool *last)
{
    (void)connection;
    struct side *side = context;
    uint64_t left = side->size - index * capacity;
    *data = client_memory;
    *length = left < capacity ? (uint32_t)left : capacity;
    *last = left <= capacity;
    side->buffer_size = capacity;
    hold(side, capacity);
    return NETBLT_SEND_BUFFER_READY;
}

static void release(void *context, netblt_connection *connection, uint64_t index, const uint8_t *data)
{
    (void)connection, (void)index, (void)data;
    struct side *side = context;
    side->held -= side->buffer_size;
}

static uint8_t *get_receive_buffer(void *context, netblt_connection *connection, uint64_t index, uint32_t capacity)
{
    (void)connection, (void)index;
    struct side *side = context;
    side->buffer_size = capacity;
    hold(side, capacity);
    return client_memory;
}

static void deliver(void *context, netblt_connection *connection, uint64_t index, uint8_t *data, uint32_t length,
                    bool last)
{
    (void)length, (void)last;
    release(context, connection, index, data);
}

static void discard(void *context, netblt_connection *connection, uint64_t index, uint8_t *data)
{
    release(context, connection, index, data);
}

static void finished(void *context, netblt_connection *connection, const netblt_outcome *outcome)
{
    (void)connection;
    ((struct side *)context)->result = outcome->result;
}

static void closed(void *context, netblt_connection *connection)
{
    (void)connection;
    ((struct side *)context)->closed++;
}

static const netblt_client client = {.size = sizeof(netblt_client),
                                     .get_send_buffer = get_send_buffer,
                                     .release = release,
                                     .get_receive_buffer = get_receive_buffer,
                                     .deliver = deliver,
                                     .discard = discard,
                                     .finished = finished,
                                     .closed = closed};

struct trial {
    netblt_params params;
    bool any_order;
    unsigned loss_permille;
    bool reader_opens;      /* the sender listens, and its peer is unvalidated */
    bool lose_first_buffer; /* its packets never arrive before half a virtual second has passed */
    uint64_t buffers;
    netblt_endpoint *ends[2]; /* [0] sends */
    struct side sides[2];
    size_t peaks[2];
    struct random random;
    netblt_time now;
};

static void accept_trial(void *context, const netblt_request *request, netblt_answer *answer)
{
    (void)request;
    struct trial *trial = context;
    answer->accept = true;
    answer->client = &client;
    answer->context = &trial->sides[trial->reader_opens ? 0 : 1];
    answer->options.any_order = trial->any_order;
}

static bool is_lost(struct trial *trial, int from, const uint8_t *packet)
{
    bool data = packet[3] == DATA || packet[3] == LDATA;
    if (trial->lose_first_buffer && from == 0 && data && peer_get32(packet + 12) == 0 &&
        trial->now < 1000000 + 500 * MS)
        return true;
    return random_chance(&trial->random, trial->loss_permille);
}

/* What one end does is counted for it alone; the other keeps what it has. */
static size_t mark_usage(size_t *own)
{
    counted.peak_bytes = counted.now_bytes;
    return counted.now_bytes - *own;
}

static void note_usage(struct trial *trial, int end, size_t *own, size_t others)
{
    size_t peak = counted.peak_bytes - others;
    *own = counted.now_bytes - others;
    trial->peaks[end] = peak > trial->peaks[end] ? peak : trial->peaks[end];
}

static size_t own[2];

static bool carry(struct trial *trial, int from)
{
    static uint8_t packets[NETBLT_PACKET_MAX_BYTES];
    netblt_output output;
    netblt_path path = {.local = {1, {(uint8_t)(2 - from)}}, .foreign = {1, {(uint8_t)(1 + from)}}};
    size_t others = mark_usage(&own[from]);
    size_t bytes = netblt_output_burst(trial->ends[from], packets, sizeof packets, &output, trial->now);
    note_usage(trial, from, &own[from], others);
    for (size_t at = 0; at < bytes; at += output.segment_bytes) {
        size_t size = bytes - at < output.segment_bytes ? bytes - at : output.segment_bytes;
        if (is_lost(trial, from, packets + at))
            continue;
        others = mark_usage(&own[1 - from]);
        netblt_input(trial->ends[1 - from], &path, packets + at, size, size, trial->now);
        note_usage(trial, 1 - from, &own[1 - from], others);
    }
    return bytes > 0;
}

static void run(struct trial *trial)
{
    netblt_connection *connection;
    netblt_config config;
    netblt_config_default(&config);
    config.allocator = &counted_allocator;
    config.unvalidated_bytes_per_s = 0; /* the sender's buffers are to be as large as negotiated */
    netblt_options options = {.any_order = trial->any_order};
    netblt_path path = {.local = {1, {1}}, .foreign = {1, {2}}};
    trial->now = 1000000;
    trial->sides[0].size = trial->buffers * trial->params.buffer_size;
    memset(own, 0, sizeof own);
    memset(trial->peaks, 0, sizeof trial->peaks);
    for (int i = 0; i < 2; i++) {
        size_t others = mark_usage(&own[i]);
        trial->ends[i] = netblt_endpoint_new(&config);
        own[i] = counted.now_bytes - others;
    }
    CHECK_EQUAL(netblt_listen(trial->ends[1], 1, accept_trial, trial), 0);
    own[1] = counted.now_bytes - own[0];
    size_t others = mark_usage(&own[0]);
    CHECK_EQUAL(netblt_open(trial->ends[0],
                            &(netblt_open_args){.size = sizeof(netblt_open_args),
                                                .path = &path,
                                                .local_port = 5,
                                                .foreign_port = 1,
                                                .role = NETBLT_SENDER,
                                                .unique_id = 1,
                                                .params = &trial->params,
                                                .client = &client,
                                                .context = &trial->sides[0],
                                                .options = options},
                            trial->now, &connection),
                0);
    note_usage(trial, 0, &own[0], others);
    while (trial->sides[0].closed == 0 || trial->sides[1].closed == 0) {
        netblt_time next = netblt_deadline(trial->ends[0]);
        next = next < netblt_deadline(trial->ends[1]) ? next : netblt_deadline(trial->ends[1]);
        CHECK(next != NETBLT_TIME_NEVER);
        trial->now = next > trial->now ? next : trial->now;
        for (int i = 0; i < 2; i++) {
            others = mark_usage(&own[i]);
            netblt_timeout(trial->ends[i], trial->now);
            note_usage(trial, i, &own[i], others);
        }
        while (carry(trial, 0) || carry(trial, 1)) {
        }
    }
    for (int i = 0; i < 2; i++) {
        CHECK_EQUAL(trial->sides[i].result, NETBLT_DONE);
        CHECK_EQUAL(trial->sides[i].held, 0);
        netblt_endpoint_free(trial->ends[i]);
    }
    CHECK_EQUAL(counted.blocks, 0);
}

/* Issued figures: negotiated buffers, one percent of them, and 64 KiB. */
static void stays_within_its_bound(struct trial *trial, const char *what)
{
    run(trial);
    uint64_t negotiated = (uint64_t)trial->params.max_buffers * trial->params.buffer_size;
    for (int i = 0; i < 2; i++) {
        CHECK(trial->sides[i].held_peak <= negotiated);
        if (trial->peaks[i] > negotiated / 100 + 65536)
            fprintf(stderr, "%s: buffer %u, packet %u, N %u: %s took %zu bytes beside %llu of buffers\n", what,
                    trial->params.buffer_size, trial->params.packet_size, trial->params.max_buffers,
                    i == 0 ? "sender" : "receiver", trial->peaks[i], (unsigned long long)negotiated);
        CHECK(trial->peaks[i] <= negotiated / 100 + 65536);
    }
}

static const struct {
    uint32_t buffer_size;
    uint16_t packet_size, max_buffers;
    uint64_t buffers;
} shapes[] = {
    {1, 1, 1, 5},
    {1, 1, 65535, 3000},
    {10, 1, 5000, 2000},
    {1000, 1, 300, 400},
    {65535, 1, 1, 3},
    {65535, 1, 20, 25},
    {65535, 2, 8, 12},
    {14320, 1432, 5, 50},
    {14320, 1432, 3000, 4000},
    {65536, 1456, 8, 100},
    {65536, 1456, 400, 600},
    {262144, 1456, 30, 60},
    {1456, 1456, 2000, 3000},
    {100000, 65000, 4, 10},
    {1 << 20, 100, 4, 8},
};

static void try_all(bool any_order, unsigned loss_permille, bool lose_first_buffer, const char *what)
{
    size_t worst = 0;
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        struct trial trial = {.any_order = any_order,
                              .loss_permille = loss_permille,
                              .lose_first_buffer = lose_first_buffer,
                              .buffers = shapes[i].buffers,
                              .random = {i + 1}};
        netblt_params_default(&trial.params);
        trial.params.buffer_size = shapes[i].buffer_size;
        trial.params.packet_size = shapes[i].packet_size;
        trial.params.max_buffers = shapes[i].max_buffers;
        trial.params.burst_size = 1000;
        trial.params.burst_interval_ms = 5;
        trial.params.data_checksum = false;
        stays_within_its_bound(&trial, what);
        for (int end = 0; end < 2; end++)
            worst = trial.peaks[end] > worst ? trial.peaks[end] : worst;
    }
    printf("   %s: at most %zu bytes beside the buffers\n", what, worst);
}

static void a_clean_transfer_takes_its_buffers_one_percent_and_64_KiB(void)
{
    try_all(false, 0, false, "clean");
}

static void so_does_a_lossy_one(void)
{
    try_all(false, 50, false, "5 % loss");
    try_all(true, 50, false, "5 % loss, any order");
}

static void so_does_one_whose_lowest_buffer_does_not_come_for_long(void)
{
    try_all(false, 0, true, "first buffer late");
    try_all(true, 0, true, "first buffer late, any order");
}

/* ---- hostile peers --------------------------------------------------------------------------------------------- */

static void a_peer_who_completes_all_but_the_lowest_buffer_does_not_fill_our_memory(void)
{
    struct peer peer;
    peer_init(&peer, NETBLT_SENDER, false);
    peer.allocator = &counted_allocator;
    peer.params.buffer_size = 1;
    peer.params.packet_size = 1;
    peer.params.max_buffers = 60000;
    peer.size = 1 << 20;
    peer_open(&peer);
    peer_go(&peer, 1, 0);
    size_t before = counted.now_bytes;
    for (unsigned i = 1; i < 20000; i++) {
        peer_go(&peer, 2 * i, i);
        peer_ok(&peer, 2 * i + 1, i);
        if (peer.closed != 0) /* an OK for a buffer that was held back */
            break;
    }
    CHECK(counted.now_bytes < before + 65536);
    peer_free(&peer);
}

static void a_storm_of_RESENDs_takes_one_bit_for_each_packet(void)
{
    struct peer peer;
    struct forged control;
    static uint16_t list[700];
    peer_init(&peer, NETBLT_SENDER, true);
    peer.allocator = &counted_allocator;
    peer.params.buffer_size = 700 * 10;
    peer.params.packet_size = 10;
    peer.params.burst_size = 10;
    peer.params.burst_interval_ms = 1000;
    peer.size = 7000;
    for (unsigned i = 0; i < 700; i++)
        list[i] = (uint16_t)(i % 10);
    peer_open(&peer);
    peer_go(&peer, 1, 0);
    size_t before = counted.now_bytes;
    for (unsigned seq = 2; seq < 4000; seq++) {
        forge(&peer, &control, CONTROL);
        forge_resend(&control, seq, 0, list, 700);
        peer_send(&peer, &control);
    }
    CHECK(counted.now_bytes < before + 4096);
    CHECK_EQUAL(peer_count_data(&peer), 10); /* and no more packets than the rate allows */
    peer_free(&peer);
}

static void absurd_parameters_are_restricted_to_the_limits_of_this_end(void)
{
    struct peer peer;
    struct forged packet;
    peer_init(&peer, NETBLT_RECEIVER, false);
    peer.allocator = &counted_allocator;
    peer_start(&peer);
    netblt_params absurd = {.buffer_size = UINT32_MAX,
                            .packet_size = 65535,
                            .burst_size = 65535,
                            .burst_interval_ms = 0,
                            .death_timer_s = 65535,
                            .max_buffers = 65535};
    size_t before = counted.now_bytes;
    forge_open(&peer, &packet, OPEN, &absurd, true);
    peer_send(&peer, &packet);
    CHECK_EQUAL(peer.opened, 1);
    CHECK(peer_info(&peer)->negotiated.buffer_size <= 400 && peer_info(&peer)->negotiated.max_buffers <= 2);
    CHECK(counted.now_bytes < before + 65536);
    peer_free(&peer);
}

static void what_is_withheld_from_an_unvalidated_peer_takes_two_bits_for_each_packet(void)
{
    struct peer peer;
    struct forged packet;
    peer_init(&peer, NETBLT_SENDER, false);
    peer.allocator = &counted_allocator;
    peer.unvalidated_bytes_per_s = 65536;
    peer.params.packet_size = 1;
    peer.params.buffer_size = 65535;
    peer.size = 65535;
    peer_open(&peer);
    forge(&peer, &packet, CONTROL);
    forge_go(&packet, 1, 0);
    peer.held_up = true; /* so that no packets are recorded */
    size_t before = counted.now_bytes;
    peer_send(&peer, &packet);
    CHECK(counted.now_bytes > before + 2 * 65535 / 8); /* it is counted here */
    CHECK(counted.now_bytes < before + 2 * 65535 / 8 + 2048);
    peer.held_up = false;
    peer_free(&peer);
    CHECK_EQUAL(counted.blocks, 0);
}

/* ---- no memory ------------------------------------------------------------------------------------------------- */

/* With the nth allocation failing. Returns whether the end that opened did not succeed. */
static bool run_out_of_memory(long n, bool reader_opens)
{
    struct trial trial = {
        .buffers = 20, .reader_opens = reader_opens, .loss_permille = 100, .random = {7}, .now = 1000000};
    int opener = reader_opens ? 1 : 0;
    netblt_connection *connection = NULL;
    netblt_config config;
    netblt_config_default(&config);
    config.allocator = &counted_allocator;
    netblt_params_default(&trial.params);
    trial.params.buffer_size = 4000;
    trial.params.packet_size = 500;
    trial.sides[0].size = trial.buffers * 4000;
    netblt_path path = {.local = {1, {(uint8_t)(1 + opener)}}, .foreign = {1, {(uint8_t)(2 - opener)}}};
    counted.fail_after = n;
    for (int i = 0; i < 2; i++)
        trial.ends[i] = netblt_endpoint_new(&config);
    int error = -1;
    if (trial.ends[0] != NULL && trial.ends[1] != NULL &&
        netblt_listen(trial.ends[1 - opener], 1, accept_trial, &trial) == 0)
        error = netblt_open(trial.ends[opener],
                            &(netblt_open_args){.size = sizeof(netblt_open_args),
                                                .path = &path,
                                                .local_port = 5,
                                                .foreign_port = 1,
                                                .role = reader_opens ? NETBLT_RECEIVER : NETBLT_SENDER,
                                                .unique_id = 1,
                                                .params = &trial.params,
                                                .client = &client,
                                                .context = &trial.sides[opener]},
                            trial.now, &connection);
    CHECK(error == 0 || counted.fail_after < 0);
    while (error == 0) {
        while (carry(&trial, 0) || carry(&trial, 1)) {
        }
        netblt_time next = netblt_deadline(trial.ends[0]);
        next = next < netblt_deadline(trial.ends[1]) ? next : netblt_deadline(trial.ends[1]);
        if (next == NETBLT_TIME_NEVER)
            break;
        trial.now = next > trial.now ? next : trial.now;
    }
    CHECK(error != 0 || trial.sides[opener].closed == 1);
    CHECK(trial.sides[0].held == 0 && trial.sides[1].held == 0);
    for (int i = 0; i < 2; i++)
        netblt_endpoint_free(trial.ends[i]);
    counted.fail_after = -1;
    CHECK_EQUAL(counted.blocks, 0);
    return error == 0 && trial.sides[opener].result != NETBLT_DONE;
}

static void wherever_memory_runs_out_the_connection_ends_and_nothing_leaks(void)
{
    for (int reader_opens = 0; reader_opens < 2; reader_opens++) {
        unsigned ended = 0;
        for (long n = 0; n < 400; n++)
            ended += run_out_of_memory(n, reader_opens != 0);
        CHECK(ended > 10);
    }
}

int main(void)
{
    RUN(a_clean_transfer_takes_its_buffers_one_percent_and_64_KiB);
    RUN(so_does_a_lossy_one);
    RUN(so_does_one_whose_lowest_buffer_does_not_come_for_long);
    RUN(a_peer_who_completes_all_but_the_lowest_buffer_does_not_fill_our_memory);
    RUN(a_storm_of_RESENDs_takes_one_bit_for_each_packet);
    RUN(absurd_parameters_are_restricted_to_the_limits_of_this_end);
    RUN(what_is_withheld_from_an_unvalidated_peer_takes_two_bits_for_each_packet);
    RUN(wherever_memory_runs_out_the_connection_ends_and_nothing_leaks);
    return 0;
}
