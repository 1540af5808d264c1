/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests of the ranges of numbers: bytes past 2^31 and 2^32, buffer numbers and control sequence numbers past their
 * wrap, buffers from one byte to 65535 packets. The clients keep nothing: each byte of the stream is a function of its
 * offset, made on demand and checked on arrival. */
#include "check.h"
#include "connection/connection.h"
#include "connection/endpoint_state.h"
#include "connection/receive_buffers.h"
#include "connection/validation.h"

#include <string.h>

#define NEVER NETBLT_TIME_NEVER

/* The period does not divide a power of two: an offset that lost its upper bits finds other bytes. */
enum { PERIOD = 4093 };
static uint8_t pattern[PERIOD + (1 << 21)];

static const uint8_t *bytes_at(uint64_t offset)
{
    return pattern + offset % PERIOD;
}

struct stream {
    uint64_t size;       /* to supply */
    bool end_is_late;    /* the end shows only when the buffer after it is needed */
    uint64_t next;       /* index that deliver must name next */
    uint64_t delivered;  /* bytes */
    uint32_t last_bytes; /* of the last buffer */
    uint8_t *memory[64]; /* receiving: one buffer each, given out in turn */
    unsigned buffers, given;
    unsigned held;
    int finished, closed;
    enum netblt_result result;
    char reason[NETBLT_STRING_MAX_BYTES + 1];
    uint64_t start; /* index of the first buffer of this stream that is transferred at all */
};

static enum netblt_send_buffer get_send_buffer(void *context, netblt_connection *connection, uint64_t index,
                                               uint32_t capacity, const uint8_t **data, uint32_t *length, bool *last)
{
    (void)connection;
    struct stream *stream = context;
    uint64_t left = stream->size - index * capacity;
    *data = bytes_at(index * capacity);
    *length = left < capacity ? (uint32_t)left : capacity;
    *last = stream->end_is_late ? left < capacity : left <= capacity;
    stream->held++;
    return NETBLT_SEND_BUFFER_READY;
}

static void release(void *context, netblt_connection *connection, uint64_t index, const uint8_t *data)
{
    (void)connection, (void)index, (void)data;
    ((struct stream *)context)->held--;
}

static uint8_t *get_receive_buffer(void *context, netblt_connection *connection, uint64_t index, uint32_t capacity)
{
    (void)connection, (void)index;
    struct stream *stream = context;
    uint8_t **memory = &stream->memory[stream->given++ % stream->buffers];
    if (*memory == NULL)
        *memory = malloc(capacity);
    stream->held++;
    return *memory;
}

static void deliver(void *context, netblt_connection *connection, uint64_t index, uint8_t *data, uint32_t length,
                    bool last)
{
    struct stream *stream = context;
    CHECK_EQUAL(index, stream->next++);
    uint64_t offset = index * connection->agreed.buffer_size;
    CHECK(memcmp(data, bytes_at(offset), length) == 0);
    stream->delivered += length;
    stream->held--;
    if (last)
        stream->last_bytes = length;
}

static void discard(void *context, netblt_connection *connection, uint64_t index, uint8_t *data)
{
    (void)connection, (void)index, (void)data;
    ((struct stream *)context)->held--;
}

/* Lets both ends believe that all buffers below `start` are done: only so can a transfer reach far in no time. */
static void opened(void *context, netblt_connection *connection)
{
    struct stream *stream = context;
    stream->next = stream->start;
    stream->buffers = connection->agreed.max_buffers;
    nb_validation_done(connection);
    if (connection->role == NETBLT_SENDER) {
        connection->sender.first = connection->sender.work_from = stream->start;
        connection->sender.gos.any = stream->start > 0;
        connection->sender.gos.highest = connection->endpoint->config.first_buffer + (uint32_t)stream->start - 1;
        connection->sender.gos.span = stream->start - 1;
    } else {
        connection->receiver.first = stream->start;
    }
}

static void finished(void *context, netblt_connection *connection, const netblt_outcome *outcome)
{
    (void)connection;
    struct stream *stream = context;
    stream->finished++;
    stream->result = outcome->result;
    snprintf(stream->reason, sizeof stream->reason, "%s", outcome->reason);
    CHECK_EQUAL(stream->held, 0);
}

static void closed(void *context, netblt_connection *connection)
{
    (void)connection;
    ((struct stream *)context)->closed++;
}

static const netblt_client client = {
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

/* ---- one transfer over a perfect link of 1 ms ------------------------------------------------------------------ */

struct far {
    netblt_params params;
    uint32_t first_buffer;
    uint16_t first_seq; /* control sequence numbers start after this one */
    bool sender_beyond, receiver_beyond;
    struct stream sender, receiver;
    netblt_stats stats;
};

static void far_init(struct far *far)
{
    *far = (struct far){0};
    netblt_params_default(&far->params);
    far->params.burst_size = 1000;
    far->params.burst_interval_ms = 0;
    far->params.data_checksum = false;
}

static void accept_far(void *context, const netblt_request *request, netblt_answer *answer)
{
    (void)request;
    struct far *far = context;
    answer->accept = true;
    answer->client = &client;
    answer->context = &far->receiver;
    answer->options.beyond_4g = far->receiver_beyond;
}

static netblt_path path_from(uint8_t local)
{
    return (netblt_path){.local = {1, {local}}, .foreign = {1, {(uint8_t)(3 - local)}}};
}

static bool carry(netblt_endpoint *from, netblt_endpoint *to, uint8_t to_address, netblt_time now)
{
    static uint8_t packets[NETBLT_PACKET_MAX_BYTES + 1];
    netblt_output output;
    bool any = false;
    netblt_path path = path_from(to_address);
    while (netblt_output_burst(from, packets, sizeof packets, &output, now) > 0) {
        netblt_input(to, &path, packets, output.length, output.segment_bytes, now);
        any = true;
    }
    return any;
}

static void renumber(netblt_endpoint *endpoint, const netblt_path *path, uint16_t local, uint16_t foreign, uint16_t seq)
{
    netblt_connection *connection = nb_demux_find(&endpoint->demux, path, local, foreign);
    if (connection->role == NETBLT_SENDER) {
        connection->sender.sequence.high = seq;
    } else {
        connection->receiver.queue.next_seq = (uint16_t)(seq + 1);
        connection->receiver.queue.acked = seq;
    }
}

static void far_run(struct far *far)
{
    netblt_config config;
    netblt_connection *connection;
    netblt_config_default(&config);
    config.first_buffer = far->first_buffer;
    netblt_endpoint *a = netblt_endpoint_new(&config), *b = netblt_endpoint_new(&config);
    netblt_options options = {.beyond_4g = far->sender_beyond};
    netblt_path here = path_from(1), there = path_from(2);
    netblt_time now = 1000;
    CHECK_EQUAL(netblt_listen(b, 1, accept_far, far), 0);
    CHECK_EQUAL(netblt_open(a,
                            &(netblt_open_args){.size = sizeof(netblt_open_args),
                                                .path = &here,
                                                .local_port = 5,
                                                .foreign_port = 1,
                                                .role = NETBLT_SENDER,
                                                .unique_id = 1,
                                                .params = &far->params,
                                                .client = &client,
                                                .context = &far->sender,
                                                .options = options},
                            now, &connection),
                0);
    if (far->first_seq != 0) {
        /* The receiving end has opened, queued its first GOs and sent none when the numbers change under it: so the
         * first CONTROL is held back, and the connection opened by hand. */
        static uint8_t packet[2000];
        netblt_output output;
        size_t bytes = netblt_output_burst(a, packet, sizeof packet, &output, now);
        far->receiver.start = far->sender.start;
        netblt_input(b, &there, packet, bytes, bytes, now);
        bytes = netblt_output_burst(b, packet, sizeof packet, &output, now);
        netblt_input(a, &here, packet, bytes, bytes, now);
        netblt_connection *receiving = nb_demux_find(&b->demux, &there, 1, 5);
        for (size_t i = 0; i < receiving->receiver.queue.messages.count; i++) {
            struct nb_control_message *message = nb_ring_at(&receiving->receiver.queue.messages, i);
            message->seq = (uint16_t)(message->seq + far->first_seq);
            nb_receiver_buffer(&receiving->receiver, i)->awaited = message->seq;
        }
        uint16_t next = receiving->receiver.queue.next_seq;
        renumber(b, &there, 1, 5, far->first_seq);
        receiving->receiver.queue.next_seq = (uint16_t)(next + far->first_seq);
        renumber(a, &here, 5, 1, far->first_seq);
    }
    far->receiver.start = far->sender.start;
    for (;;) {
        while (carry(a, b, 2, now) || carry(b, a, 1, now)) {
        }
        netblt_time next = netblt_deadline(a) < netblt_deadline(b) ? netblt_deadline(a) : netblt_deadline(b);
        if (next == NEVER)
            break;
        now = next > now ? next : now;
        CHECK(now < UINT64_C(1000000000));
        netblt_timeout(a, now);
        netblt_timeout(b, now);
    }
    CHECK_EQUAL(far->sender.finished, 1);
    CHECK_EQUAL(far->sender.closed, 1);
    CHECK_EQUAL(far->receiver.finished, far->receiver.closed);
    netblt_endpoint_free(a);
    netblt_endpoint_free(b);
    for (size_t i = 0; i < 64; i++)
        free(far->receiver.memory[i]);
}

static void far_succeeds(struct far *far)
{
    far_run(far);
    CHECK_EQUAL(far->sender.result, NETBLT_DONE);
    CHECK_EQUAL(far->receiver.result, NETBLT_DONE);
    CHECK_EQUAL(far->receiver.delivered, far->sender.size - far->sender.start * far->params.buffer_size);
}

/* ---- bytes ----------------------------------------------------------------------------------------------------- */

static void far_big(struct far *far, uint64_t size, uint64_t start)
{
    far_init(far);
    far->params.packet_size = 65508;
    far->params.buffer_size = 16 * 65508;
    far->params.max_buffers = 2;
    far->sender.size = size;
    far->sender.start = start;
}

static void DATA_14_every_byte_of_a_transfer_past_2_to_the_31_arrives(void)
{
    struct far far;
    far_big(&far, (UINT64_C(1) << 31) + 12345, 0);
    far_succeeds(&far);
}

static void DATA_14_a_transfer_of_exactly_2_to_the_32_bytes_is_within_the_RFC(void)
{
    for (int end_is_late = 0; end_is_late < 2; end_is_late++) {
        struct far far;
        far_big(&far, UINT64_C(1) << 32, 0);
        far.params.buffer_size = 1 << 20;
        far.params.packet_size = 32768;
        far.sender.start = 4094;
        far.sender.end_is_late = end_is_late != 0; /* the end is an empty buffer that starts at 2^32 */
        far_succeeds(&far);
        CHECK_EQUAL(far.receiver.last_bytes, end_is_late ? 0 : 1 << 20);
    }
}

static void DATA_14_with_beyond_4g_a_transfer_crosses_2_to_the_32(void)
{
    struct far far;
    far_big(&far, (UINT64_C(1) << 32) + 5000000, 0); /* every byte of it */
    far.sender_beyond = far.receiver_beyond = true;
    far_succeeds(&far);
    far_big(&far, UINT64_C(5) << 40, ((UINT64_C(5) << 40) - 20000000) / (16 * 65508));
    far.sender_beyond = far.receiver_beyond = true;
    far_succeeds(&far);
}

static void DATA_14_a_sender_quits_when_its_client_supplies_more(void)
{
    struct far far;
    far_big(&far, (UINT64_C(1) << 32) + 1, 4094);
    far.receiver_beyond = true;
    far_run(&far);
    CHECK_EQUAL(far.sender.result, NETBLT_LOCAL_QUIT);
    CHECK_EQUAL(far.receiver.result, NETBLT_PEER_QUIT);
    CHECK(strstr(far.sender.reason, "2^32") != NULL && strcmp(far.sender.reason, far.receiver.reason) == 0);
    CHECK(far.receiver.next * far.params.buffer_size <= UINT64_C(1) << 32);
}

static void DATA_14_a_receiver_quits_when_more_arrives(void)
{
    for (int full_buffers = 0; full_buffers < 2; full_buffers++) {
        struct far far;
        far_big(&far, (UINT64_C(1) << 32) + (full_buffers ? 3 << 20 : 1), 0);
        if (full_buffers) { /* the one that begins at 2^32 is not the last */
            far.params.buffer_size = 1 << 20;
            far.params.packet_size = 32768;
        }
        far.sender.start = 4094;
        far.sender_beyond = true;
        far_run(&far);
        CHECK_EQUAL(far.receiver.result, NETBLT_LOCAL_QUIT);
        CHECK_EQUAL(far.sender.result, NETBLT_PEER_QUIT);
        CHECK(strstr(far.receiver.reason, "2^32") != NULL);
        CHECK(far.receiver.next * far.params.buffer_size <= UINT64_C(1) << 32); /* what was OK'd is within */
    }
}

static void DATA_14_an_announced_size_beyond_is_refused_at_once(void)
{
    netblt_config config;
    netblt_connection *connection;
    netblt_params params;
    struct stream stream = {0};
    netblt_path path = path_from(1);
    netblt_config_default(&config);
    netblt_params_default(&params);
    netblt_endpoint *endpoint = netblt_endpoint_new(&config);
    params.transfer_size = (UINT64_C(1) << 32) + 1;
    netblt_open_args args = {
        .size = sizeof args,
        .path = &path,
        .local_port = 5,
        .foreign_port = 1,
        .role = NETBLT_SENDER,
        .unique_id = 1,
        .params = &params,
        .client = &client,
        .context = &stream,
    };
    CHECK_EQUAL(netblt_open(endpoint, &args, 0, &connection), NETBLT_ERR_INVALID_ARGUMENT);
    args.options.beyond_4g = true;
    CHECK_EQUAL(netblt_open(endpoint, &args, 0, &connection), 0);
    args.options.beyond_4g = false;
    args.local_port = 6;
    params.transfer_size--; /* 2^32 itself is fine; the field cannot hold it and is "unknown" (AMB-15) */
    CHECK_EQUAL(netblt_open(endpoint, &args, 0, &connection), 0);
    netblt_endpoint_free(endpoint);
}

static void accept_to_send_too_much(void *context, const netblt_request *request, netblt_answer *answer)
{
    accept_far(context, request, answer);
    answer->limits.transfer_size = (UINT64_C(1) << 32) + 1;
}

static void DATA_14_a_passive_sender_refuses_a_transfer_that_it_knows_to_be_too_long(void)
{
    netblt_config config;
    netblt_connection *connection;
    struct far far;
    far_init(&far);
    netblt_path here = path_from(1);
    netblt_config_default(&config);
    netblt_endpoint *a = netblt_endpoint_new(&config), *b = netblt_endpoint_new(&config);
    CHECK_EQUAL(netblt_listen(b, 1, accept_to_send_too_much, &far), 0);
    CHECK_EQUAL(netblt_open(a,
                            &(netblt_open_args){.size = sizeof(netblt_open_args),
                                                .path = &here,
                                                .local_port = 5,
                                                .foreign_port = 1,
                                                .role = NETBLT_RECEIVER,
                                                .unique_id = 1,
                                                .params = &far.params,
                                                .client = &client,
                                                .context = &far.sender},
                            0, &connection),
                0);
    while (carry(a, b, 2, 0) || carry(b, a, 1, 0)) {
    }
    CHECK_EQUAL(far.sender.result, NETBLT_REFUSED);
    CHECK(strstr(far.sender.reason, "2^32") != NULL);
    netblt_endpoint_free(a);
    netblt_endpoint_free(b);
}

/* ---- numbers --------------------------------------------------------------------------------------------------- */

static void AMB_09_buffer_numbers_wrap(void)
{
    struct far far;
    far_init(&far);
    far.params.buffer_size = 3000;
    far.first_buffer = UINT32_MAX - 5; /* 40 buffers: number 6 is 0 */
    far.sender.size = 40 * 3000 - 1;
    far_succeeds(&far);
}

static void AMB_12_control_sequence_numbers_wrap(void)
{
    struct far far;
    far_init(&far);
    far.params.buffer_size = 3000;
    far.params.max_buffers = 5;
    far.first_seq = 65500; /* 80 messages and more: 65535 is followed by 0 */
    far.sender.size = 40 * 3000;
    far_succeeds(&far);
}

/* ---- sizes ----------------------------------------------------------------------------------------------------- */

static void NEG_11_buffers_from_one_byte_to_65535_packets(void)
{
    static const struct {
        uint32_t buffer_size;
        uint16_t packet_size;
    } sizes[] = {{1, 1}, {1, 1456}, {2, 1}, {1456, 1456}, {1457, 1456}, {65535, 1}, {65535 * 2, 2}, {65535 * 7 - 3, 7}};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        for (int n = 1; n <= 3; n++) {
            struct far far;
            far_init(&far);
            far.params.buffer_size = sizes[i].buffer_size;
            far.params.packet_size = sizes[i].packet_size;
            far.sender.size = (uint64_t)n * sizes[i].buffer_size - (n == 2 ? sizes[i].buffer_size / 2 : 0);
            far_succeeds(&far);
        }
    }
}

static void DATA_08_a_last_buffer_of_any_size(void)
{
    for (uint32_t last = 0; last <= 256; last++) {
        for (int end_is_late = 0; end_is_late < 2; end_is_late++) {
            struct far far;
            far_init(&far);
            far.params.buffer_size = 256;
            far.params.packet_size = 50;
            far.sender.size = 2 * 256 + last;
            far.sender.end_is_late = end_is_late != 0;
            far_succeeds(&far);
            CHECK_EQUAL(far.receiver.last_bytes, last == 0 && !end_is_late    ? 256
                                                 : last == 256 && end_is_late ? 0
                                                                              : last);
        }
    }
}

static void AMB_41_an_empty_transfer_is_one_empty_buffer(void)
{
    struct far far;
    far_init(&far);
    far_succeeds(&far);
    CHECK_EQUAL(far.receiver.next, 1);
}

int main(void)
{
    for (size_t i = 0; i < sizeof pattern; i++)
        pattern[i] = (uint8_t)(i % PERIOD * 167 / 16);
    RUN(DATA_14_every_byte_of_a_transfer_past_2_to_the_31_arrives);
    RUN(DATA_14_a_transfer_of_exactly_2_to_the_32_bytes_is_within_the_RFC);
    RUN(DATA_14_with_beyond_4g_a_transfer_crosses_2_to_the_32);
    RUN(DATA_14_a_sender_quits_when_its_client_supplies_more);
    RUN(DATA_14_a_receiver_quits_when_more_arrives);
    RUN(DATA_14_an_announced_size_beyond_is_refused_at_once);
    RUN(DATA_14_a_passive_sender_refuses_a_transfer_that_it_knows_to_be_too_long);
    RUN(AMB_09_buffer_numbers_wrap);
    RUN(AMB_12_control_sequence_numbers_wrap);
    RUN(NEG_11_buffers_from_one_byte_to_65535_packets);
    RUN(DATA_08_a_last_buffer_of_any_size);
    RUN(AMB_41_an_empty_transfer_is_one_empty_buffer);
    return 0;
}
