/* SPDX-License-Identifier: BSD-2-Clause */
#include "fuzz.h"

#include <netblt/netblt.h>
#include <string.h>

/* A whole endpoint, fed sequences of packets and moments. The input is a small program: what kind of endpoint, then one
 * instruction after another. Most packets are made nearly right (ports, Length, checksum, unique ID, numbers close to
 * those that the endpoint expects), so that the search gets deep; some are raw bytes.
 *
 * What must hold whatever comes: no undefined behaviour, every callback in its turn, memory given back exactly once,
 * the outcome told exactly once, no timer without a connection. */

enum { STRANGERS = 3, HELD_MAX = 256, STEPS_MAX = 400, PORT = 1 };

struct bytes {
    const uint8_t *at;
    size_t left;
};

static uint8_t take(struct bytes *in)
{
    if (in->left == 0)
        return 0;
    in->left--;
    return *in->at++;
}

static uint16_t take16(struct bytes *in)
{
    uint16_t high = take(in);
    return (uint16_t)(high << 8 | take(in));
}

/* One remote host and, as long as there is one, the connection with it. */
struct host {
    struct fuzz *fuzz;
    netblt_connection *connection;
    uint16_t port;
    uint32_t unique_id;
    int finished;
    uint64_t next; /* index that supply must ask for, or deliver give */
    bool any_order;
    uint8_t *held[HELD_MAX];
    uint64_t held_index[HELD_MAX];
    uint32_t capacity;
    uint16_t seq;      /* of our next control message */
    uint16_t seen_seq; /* highest in its CONTROLs */
    uint32_t seen_go;
};

struct fuzz {
    netblt_endpoint *endpoint;
    netblt_time now;
    struct host hosts[STRANGERS];
    struct host *asked; /* whose OPEN is being taken in */
    netblt_params limits;
    uint8_t stalls; /* every so manieth call of a client is answered "not now"; 0 = never */
    uint8_t calls;
    uint64_t buffers; /* to supply */
    bool any_order, automatic;
    unsigned open_connections;
};

/* ---- the client ------------------------------------------------------------------------------------------------- */

static bool stalls(struct fuzz *fuzz)
{
    return fuzz->stalls != 0 && ++fuzz->calls % fuzz->stalls == 0;
}

static uint8_t *hold(struct host *host, uint64_t index, uint32_t bytes)
{
    for (size_t i = 0; i < HELD_MAX; i++) {
        if (host->held[i] == NULL) {
            host->held[i] = malloc(bytes == 0 ? 1 : bytes);
            host->held_index[i] = index;
            return host->held[i];
        }
    }
    return NULL;
}

static void give_back(struct host *host, uint64_t index, const uint8_t *data)
{
    for (size_t i = 0; i < HELD_MAX; i++) {
        if (host->held[i] == data && data != NULL) {
            FUZZ_CHECK(host->held_index[i] == index);
            free(host->held[i]);
            host->held[i] = NULL;
            return;
        }
    }
    FUZZ_CHECK(!"memory that the core did not have");
}

static enum netblt_supply supply(void *context, netblt_connection *connection, uint64_t index, uint32_t capacity,
                                 const uint8_t **data, uint32_t *length, bool *last)
{
    struct host *host = context;
    FUZZ_CHECK(connection == host->connection && host->finished == 0 && index == host->next);
    if (stalls(host->fuzz))
        return NETBLT_SUPPLY_WAIT;
    bool final = index + 1 >= host->fuzz->buffers;
    uint32_t bytes = final ? capacity / 2 : capacity;
    uint8_t *memory = hold(host, index, bytes);
    if (memory == NULL)
        return NETBLT_SUPPLY_WAIT;
    memset(memory, (int)index, bytes);
    host->next++;
    *data = memory;
    *length = bytes;
    *last = final;
    return NETBLT_SUPPLY_READY;
}

static void release(void *context, netblt_connection *connection, uint64_t index, const uint8_t *data)
{
    (void)connection;
    give_back(context, index, data);
}

static uint8_t *provide(void *context, netblt_connection *connection, uint64_t index, uint32_t capacity)
{
    struct host *host = context;
    FUZZ_CHECK(connection == host->connection && host->finished == 0);
    host->capacity = capacity;
    return stalls(host->fuzz) ? NULL : hold(host, index, capacity);
}

static void deliver(void *context, netblt_connection *connection, uint64_t index, uint8_t *data, uint32_t length,
                    bool last)
{
    struct host *host = context;
    (void)connection, (void)last;
    FUZZ_CHECK(host->finished == 0 && length <= host->capacity);
    FUZZ_CHECK(host->any_order || index == host->next++);
    volatile uint8_t sum = 0;
    for (uint32_t i = 0; i < length; i++) /* all of it was written */
        sum = (uint8_t)(sum + data[i]);
    give_back(host, index, data);
}

static void discard(void *context, netblt_connection *connection, uint64_t index, uint8_t *data)
{
    (void)connection;
    give_back(context, index, data);
}

static void opened(void *context, netblt_connection *connection)
{
    struct host *host = context;
    FUZZ_CHECK(host->connection == NULL || host->connection == connection);
    host->connection = connection;
}

static void finished(void *context, netblt_connection *connection, const netblt_outcome *outcome)
{
    struct host *host = context;
    (void)connection;
    FUZZ_CHECK(host->finished++ == 0 && outcome->reason != NULL);
    for (size_t i = 0; i < HELD_MAX; i++)
        FUZZ_CHECK(host->held[i] == NULL);
}

static void closed(void *context, netblt_connection *connection)
{
    struct host *host = context;
    FUZZ_CHECK(connection == host->connection && host->finished == 1);
    host->connection = NULL;
    host->fuzz->open_connections--;
}

static const netblt_client client = {
    .supply = supply,
    .release = release,
    .provide = provide,
    .deliver = deliver,
    .discard = discard,
    .opened = opened,
    .finished = finished,
    .closed = closed,
};

static void begin_connection(struct host *host)
{
    host->finished = 0;
    host->next = 0;
    host->any_order = host->fuzz->any_order;
    host->seq = 1;
    host->seen_seq = 0;
    host->seen_go = 0;
    host->fuzz->open_connections++;
}

static void accept_request(void *context, const netblt_request *request, netblt_answer *answer)
{
    struct fuzz *fuzz = context;
    (void)request;
    if (fuzz->asked == NULL || fuzz->asked->connection != NULL)
        return;
    answer->accept = true;
    answer->limits = fuzz->limits;
    answer->client = &client;
    answer->context = fuzz->asked;
    answer->options.any_order = fuzz->any_order;
    answer->options.rate = fuzz->automatic ? NETBLT_RATE_AUTO : NETBLT_RATE_FIXED;
    begin_connection(fuzz->asked);
}

/* ---- packets ---------------------------------------------------------------------------------------------------- */

static netblt_path path_of(const struct fuzz *fuzz, const struct host *host)
{
    return (netblt_path){.local = {1, {1}}, .foreign = {1, {(uint8_t)(2 + (host - fuzz->hosts))}}};
}

static void put16(uint8_t *at, unsigned value)
{
    at[0] = (uint8_t)(value >> 8);
    at[1] = (uint8_t)value;
}

static void put32(uint8_t *at, uint32_t value)
{
    put16(at, value >> 16);
    put16(at + 2, value & 0xFFFF);
}

static void arrive(struct fuzz *fuzz, struct host *host, const uint8_t *packet, size_t size)
{
    uint8_t *exact = malloc(size == 0 ? 1 : size);
    netblt_path path = path_of(fuzz, host);
    unsigned before = fuzz->open_connections;
    bool had = host->connection != NULL;
    if (size > 0)
        memcpy(exact, packet, size);
    fuzz->asked = host;
    netblt_input(fuzz->endpoint, &path, exact, size, size, fuzz->now);
    fuzz->asked = NULL;
    /* An OPEN that was accepted by us but not by the core (a parameter out of range) began nothing. */
    if (!had && host->connection == NULL && fuzz->open_connections > before && host->finished == 0)
        fuzz->open_connections = before;
    free(exact);
}

static void seal(struct fuzz *fuzz, struct host *host, uint8_t *packet, unsigned type, size_t length)
{
    packet[2] = 2;
    packet[3] = (uint8_t)type;
    put16(packet + 4, (unsigned)length);
    put16(packet + 6, host->port);
    put16(packet + 8, PORT);
    put16(packet + 10, 0);
    fuzz_repair(packet, length);
    arrive(fuzz, host, packet, length);
}

static void send_open(struct fuzz *fuzz, struct host *host, struct bytes *in, unsigned type)
{
    uint8_t packet[64] = {0};
    uint8_t odd = take(in);
    put32(packet + 12, host->unique_id + (odd % 16 == 15));
    put32(packet + 16, odd & 16 ? take16(in) : fuzz->limits.buffer_size);
    put16(packet + 24, odd & 32 ? take16(in) : fuzz->limits.packet_size);
    put16(packet + 26, odd & 64 ? take(in) : fuzz->limits.burst_size);
    put16(packet + 28, fuzz->limits.burst_interval_ms);
    put16(packet + 30, take(in) % 64);
    put16(packet + 32, odd & 3);
    put16(packet + 34, odd & 128 ? take(in) : fuzz->limits.max_buffers);
    size_t length = 36 + odd % 5 * 4;
    memset(packet + 36, 'n', length - 36);
    seal(fuzz, host, packet, type, length);
}

static void send_control(struct fuzz *fuzz, struct host *host, struct bytes *in)
{
    uint8_t packet[600] = {0};
    size_t at = 12;
    for (unsigned n = 1 + take(in) % 5; n > 0 && at + 80 < sizeof packet; n--) {
        uint8_t shape = take(in);
        uint8_t buffer = take(in);
        bool fresh = (shape & 0x40) == 0;
        packet[at] = shape % 4 == 3 ? 0 : shape % 4;
        put16(packet + at + 2, fresh ? host->seq++ : (unsigned)(host->seq - shape % 8));
        put32(packet + at + 4, (uint32_t)(int32_t)(int8_t)buffer);
        if (packet[at] == 0) {
            at += 8;
        } else if (packet[at] == 1) {
            put16(packet + at + 8, take(in));
            put16(packet + at + 10, take(in));
            put16(packet + at + 12, take16(in));
            at += 16;
        } else {
            unsigned count = take(in) % 24;
            put16(packet + at + 8, (shape & 0x80) != 0 ? count + 40 : count);
            for (unsigned i = 0; i < count; i++)
                put16(packet + at + 12 + 2 * i, take(in));
            at += (12 + 2 * count + 3) / 4 * 4;
        }
    }
    seal(fuzz, host, packet, 9, at);
}

static unsigned acknowledge(const struct host *host, uint8_t how)
{
    return how % 4 == 3 ? (unsigned)(host->seen_seq + how) : (unsigned)(host->seen_seq - how % 4);
}

static void send_data(struct fuzz *fuzz, struct host *host, struct bytes *in)
{
    uint8_t packet[24 + 700] = {0};
    uint8_t shape = take(in);
    uint8_t number = take(in);
    unsigned size = fuzz->limits.packet_size;
    unsigned packets = (fuzz->limits.buffer_size + size - 1) / size;
    bool last = number % 32 + 1u == packets;
    unsigned length = last ? fuzz->limits.buffer_size - (packets - 1) * size : size;
    if (shape & 0x10)
        length = take16(in) % 700;
    put32(packet + 12, host->seen_go - (shape >> 5));
    put16(packet + 16, acknowledge(host, shape));
    put16(packet + 18, shape & 8 ? number : number % 32);
    put16(packet + 22, (shape & 4) != 0);
    memset(packet + 24, number, length);
    uint32_t sum = 0; /* of the data: all bytes are alike */
    for (unsigned i = 0; i < length; i++)
        sum += i % 2 == 0 ? (uint32_t)number << 8 : number;
    while (sum >> 16 != 0)
        sum = (sum & 0xFFFF) + (sum >> 16);
    put16(packet + 20, ~sum & 0xFFFF);
    seal(fuzz, host, packet, last || (shape & 4) != 0 ? 7 : 6, 24 + length);
}

static void send_null_ack(struct fuzz *fuzz, struct host *host, struct bytes *in)
{
    uint8_t packet[20] = {0};
    put16(packet + 12, acknowledge(host, take(in)));
    put16(packet + 14, take(in));
    put16(packet + 16, take(in));
    seal(fuzz, host, packet, 8, 20);
}

static void send_reason(struct fuzz *fuzz, struct host *host, unsigned type, uint8_t how)
{
    uint8_t packet[12 + 8];
    memset(packet, 'r', sizeof packet); /* unterminated */
    seal(fuzz, host, packet, type, 12 + how % 3 * 4);
}

static void send_raw(struct fuzz *fuzz, struct host *host, struct bytes *in)
{
    uint8_t packet[256] = {0};
    uint8_t how = take(in);
    size_t size = take(in);
    for (size_t i = 0; i < size; i++)
        packet[i] = take(in);
    if (size >= 12 && (how & 1) != 0) {
        put16(packet + 6, host->port);
        put16(packet + 8, PORT);
        packet[2] = 2;
    }
    if ((how & 2) != 0)
        fuzz_repair(packet, size);
    arrive(fuzz, host, packet, size);
}

/* ---- what the endpoint says ------------------------------------------------------------------------------------- */

static void learn(struct host *host, const uint8_t *packet, size_t length)
{
    size_t at = 12;
    FUZZ_CHECK(length >= 12 && ((size_t)packet[4] << 8 | packet[5]) <= length);
    if (packet[3] == 0) /* its OPEN */
        memcpy(&host->unique_id, packet + 12, 0);
    if (packet[3] != 9)
        return;
    while (at + 8 <= length) {
        host->seen_seq = (uint16_t)(packet[at + 2] << 8 | packet[at + 3]);
        uint32_t buffer = (uint32_t)packet[at + 4] << 24 | (uint32_t)packet[at + 5] << 16 |
                          (uint32_t)packet[at + 6] << 8 | packet[at + 7];
        if (packet[at] == 0 && buffer > host->seen_go)
            host->seen_go = buffer;
        unsigned count = packet[at] == 2 ? (unsigned)(packet[at + 8] << 8 | packet[at + 9]) : 0;
        at += packet[at] == 0 ? 8 : packet[at] == 1 ? 16 : (12 + 2 * count + 3) / 4 * 4;
    }
}

static void drain(struct fuzz *fuzz, size_t capacity)
{
    static uint8_t packets[NETBLT_PACKET_MAX_BYTES];
    netblt_output output;
    for (int i = 0; i < 100; i++) { /* unpaced data has no end */
        size_t bytes = netblt_output_burst(fuzz->endpoint, packets, capacity, &output, fuzz->now);
        if (bytes == 0)
            return;
        FUZZ_CHECK(bytes == output.length && bytes <= capacity);
        FUZZ_CHECK((bytes + output.segment_bytes - 1) / output.segment_bytes == output.count);
        unsigned who = output.path.foreign.bytes[0] - 2u;
        FUZZ_CHECK(who < STRANGERS);
        for (size_t at = 0; at < bytes; at += output.segment_bytes)
            learn(&fuzz->hosts[who], packets + at,
                  bytes - at < output.segment_bytes ? bytes - at : output.segment_bytes);
    }
}

/* ---- the program ------------------------------------------------------------------------------------------------- */

static void open_actively(struct fuzz *fuzz, struct host *host, enum netblt_role role)
{
    netblt_path path = path_of(fuzz, host);
    netblt_options options = {.any_order = fuzz->any_order,
                              .rate = fuzz->automatic ? NETBLT_RATE_AUTO : NETBLT_RATE_FIXED};
    if (host->connection != NULL)
        return;
    if (netblt_open(fuzz->endpoint, &path, PORT, host->port, role, &fuzz->limits, host->unique_id, &client, host,
                    &options, fuzz->now, &host->connection) == 0)
        begin_connection(host);
}

static void wait_until(struct fuzz *fuzz, netblt_time at)
{
    fuzz->now = at > fuzz->now ? at : fuzz->now;
    netblt_timeout(fuzz->endpoint, fuzz->now);
}

static void step(struct fuzz *fuzz, struct bytes *in)
{
    uint8_t op = take(in);
    struct host *host = &fuzz->hosts[(op >> 6) % STRANGERS];
    netblt_info info;
    switch (op % 24) {
    case 0:
    case 1:
        wait_until(fuzz,
                   netblt_deadline(fuzz->endpoint) == NETBLT_TIME_NEVER ? fuzz->now : netblt_deadline(fuzz->endpoint));
        break;
    case 2:
        wait_until(fuzz, fuzz->now + (netblt_time)take16(in) * 100);
        break;
    case 3:
        send_raw(fuzz, host, in);
        break;
    case 4:
        send_open(fuzz, host, in, 0);
        break;
    case 5:
        send_open(fuzz, host, in, 1);
        break;
    case 6:
    case 7:
        send_control(fuzz, host, in);
        break;
    case 8:
    case 9:
    case 10:
        send_data(fuzz, host, in);
        break;
    case 11:
    case 12:
        send_null_ack(fuzz, host, in);
        break;
    case 13:
        send_reason(fuzz, host, take(in) % 8 == 0 ? 5 : 3, take(in)); /* ABORT, QUIT */
        break;
    case 14:
        send_reason(fuzz, host, (const uint8_t[]){2, 4, 10, 11}[take(in) % 4], 0);
        break;
    case 15:
        if (host->connection != NULL)
            netblt_resume(host->connection, fuzz->now);
        break;
    case 16:
        if (host->connection != NULL)
            netblt_quit(host->connection, "enough", fuzz->now);
        break;
    case 17:
        if (host->connection != NULL && take(in) % 4 == 0)
            netblt_abort(host->connection, "at once", fuzz->now);
        break;
    case 18:
        fuzz->stalls = take(in) % 8;
        break;
    case 19:
        open_actively(fuzz, host, NETBLT_SENDER);
        break;
    case 20:
        open_actively(fuzz, host, NETBLT_RECEIVER);
        break;
    case 21:
        if (host->connection != NULL)
            netblt_get_info(host->connection, &info);
        break;
    case 22:
        drain(fuzz, take(in)); /* too little room for most packets */
        break;
    default:
        drain(fuzz, NETBLT_PACKET_MAX_BYTES);
        break;
    }
    if ((op & 32) == 0)
        drain(fuzz, NETBLT_PACKET_MAX_BYTES);
}

static void prepare(struct fuzz *fuzz, struct bytes *in)
{
    netblt_config config;
    uint8_t kind = take(in);
    netblt_config_default(&config);
    config.first_buffer = kind & 1 ? UINT32_MAX - 1 : 0;
    config.unvalidated_bytes_per_s = kind & 2 ? 0 : 2048;
    config.unvalidated_connections = kind & 4 ? 1 : 8;
    if ((kind & 8) != 0)
        config.profile = &netblt_profile_mit1987;
    fuzz->any_order = (kind & 16) != 0;
    fuzz->automatic = (kind & 32) != 0;
    fuzz->endpoint = netblt_endpoint_new(&config);
    fuzz->now = 1000000;
    netblt_params_default(&fuzz->limits);
    fuzz->limits.packet_size = (uint16_t)(1 + take(in));
    fuzz->limits.buffer_size = 1 + take16(in) % 4096;
    fuzz->limits.max_buffers = (uint16_t)(1 + take(in) % 16);
    fuzz->limits.burst_size = (uint16_t)(1 + take(in) % 16);
    fuzz->limits.burst_interval_ms = take(in) % 32;
    fuzz->limits.death_timer_s = (uint16_t)(1 + take(in) % 32);
    fuzz->limits.data_checksum = (kind & 64) != 0;
    fuzz->buffers = take(in) % 32;
    for (unsigned i = 0; i < STRANGERS; i++) {
        fuzz->hosts[i].fuzz = fuzz;
        fuzz->hosts[i].port = (uint16_t)(100 + i);
        fuzz->hosts[i].unique_id = i;
    }
    netblt_listen(fuzz->endpoint, PORT, accept_request, fuzz);
}

/* Nobody says anything any more: in the end every connection is over and no timer runs. */
static void let_all_end(struct fuzz *fuzz)
{
    for (int i = 0; i < 20000 && fuzz->open_connections > 0; i++) {
        netblt_time next = netblt_deadline(fuzz->endpoint);
        FUZZ_CHECK(next != NETBLT_TIME_NEVER);
        wait_until(fuzz, next);
        drain(fuzz, NETBLT_PACKET_MAX_BYTES);
    }
    FUZZ_CHECK(fuzz->open_connections == 0);
    drain(fuzz, NETBLT_PACKET_MAX_BYTES);
    FUZZ_CHECK(netblt_deadline(fuzz->endpoint) == NETBLT_TIME_NEVER);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bytes in = {data, size};
    struct fuzz *fuzz = calloc(1, sizeof *fuzz);
    prepare(fuzz, &in);
    for (int i = 0; i < STEPS_MAX && in.left > 0; i++)
        step(fuzz, &in);
    let_all_end(fuzz);
    for (unsigned i = 0; i < STRANGERS; i++)
        FUZZ_CHECK(fuzz->hosts[i].connection == NULL);
    netblt_endpoint_free(fuzz->endpoint);
    free(fuzz);
    return 0;
}
