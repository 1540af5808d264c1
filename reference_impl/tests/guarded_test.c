/* SPDX-License-Identifier: BSD-2-Clause */
/* Guarded connections between two endpoints of ours in virtual time (core/security/guard.h), also while a host that
 * does not see their packets forges some. */
#include "check.h"
#include "peer.h"
#include "random.h"

#include <string.h>

#define DELAY (5 * MS) /* of the path, each way */
#define ACTIVE_PORT 40000
#define PASSIVE_PORT 1

/* ---- two ends and a path --------------------------------------------------------------------------------------- */

struct end {
    netblt_endpoint *endpoint;
    netblt_connection *connection;
    uint64_t moved; /* bytes supplied or delivered */
    unsigned opened, validated, finished, closed;
    enum netblt_result result;
    char reason[NETBLT_STRING_MAX_BYTES + 1];
    netblt_info info; /* as of `closed` */
    netblt_time finished_at;
};

struct flight {
    netblt_time at;
    int to;
    size_t length;
    uint8_t bytes[1100];
};

enum { FLIGHTS_MAX = 4096 };

static struct {
    bool secrets[2];
    uint8_t features[2]; /* NETBLT_CLIENT_... of each end */
    uint8_t requested_features;
    bool active_sends;
    netblt_params params;
    uint64_t size;
    void (*meanwhile)(void); /* at each moment at which something happens, once both ends are open */
    struct end ends[2];      /* [0] active */
    netblt_time now;
    struct flight flights[FLIGHTS_MAX];
    size_t first, count;
} world;

static uint8_t content[1 << 20], delivered[1 << 20], memory[1 << 20];

static enum netblt_send_buffer get_send_buffer(void *context, netblt_connection *connection, uint64_t index,
                                               uint32_t capacity, const uint8_t **data, uint32_t *length, bool *last)
{
    (void)connection;
    struct end *end = context;
    uint64_t left = world.size - index * capacity;
    *data = content + index * capacity;
    *length = left < capacity ? (uint32_t)left : capacity;
    *last = left <= capacity;
    end->moved += *length;
    return NETBLT_SEND_BUFFER_READY;
}

/* Each buffer has its place, so that what is written to the wrong one is found. */
static uint8_t *get_receive_buffer(void *context, netblt_connection *connection, uint64_t index, uint32_t capacity)
{
    (void)context, (void)connection;
    CHECK(index * capacity + capacity <= sizeof memory);
    return memory + index * capacity;
}

static void deliver(void *context, netblt_connection *connection, uint64_t index, uint8_t *data, uint32_t length,
                    bool last)
{
    (void)connection, (void)last;
    struct end *end = context;
    memcpy(delivered + index * world.params.buffer_size, data, length);
    end->moved += length;
}

static void opened(void *context, netblt_connection *connection)
{
    struct end *end = context;
    end->connection = connection;
    end->opened++;
}

static void validated(void *context, netblt_connection *connection)
{
    (void)connection;
    ((struct end *)context)->validated++;
}

static void finished(void *context, netblt_connection *connection, const netblt_outcome *outcome)
{
    (void)connection;
    struct end *end = context;
    end->finished++;
    end->finished_at = world.now;
    end->result = outcome->result;
    snprintf(end->reason, sizeof end->reason, "%s", outcome->reason);
}

static void closed(void *context, netblt_connection *connection)
{
    struct end *end = context;
    netblt_get_info(connection, &end->info);
    end->closed++;
    end->connection = NULL;
}

static const netblt_client client = {.size = sizeof(netblt_client),
                                     .get_send_buffer = get_send_buffer,
                                     .get_receive_buffer = get_receive_buffer,
                                     .deliver = deliver,
                                     .opened = opened,
                                     .validated = validated,
                                     .finished = finished,
                                     .closed = closed};

static void accept_all(void *context, const netblt_request *request, netblt_answer *answer)
{
    world.requested_features = request->client_features;
    answer->accept = true;
    answer->client = &client;
    answer->context = context;
    answer->options.client_features = world.features[1];
    snprintf(answer->limits.client_string, sizeof answer->limits.client_string, "the passive end");
}

static netblt_path path_of(int end)
{
    netblt_path path = {.local = {4, {10, 0, 0, 1}}, .foreign = {4, {10, 0, 0, 2}}};
    path.local.bytes[3] = (uint8_t)(1 + end);
    path.foreign.bytes[3] = (uint8_t)(2 - end);
    return path;
}

static void carry(int from)
{
    static uint8_t packets[NETBLT_PACKET_MAX_BYTES];
    netblt_output output;
    while (netblt_output_burst(world.ends[from].endpoint, packets, sizeof packets, &output, world.now) > 0) {
        for (size_t at = 0; at < output.length; at += output.segment_bytes) {
            size_t left = output.length - at;
            CHECK(world.count < FLIGHTS_MAX);
            struct flight *flight = &world.flights[(world.first + world.count++) % FLIGHTS_MAX];
            flight->at = world.now + DELAY;
            flight->to = 1 - from;
            flight->length = left < output.segment_bytes ? left : output.segment_bytes;
            CHECK(flight->length <= sizeof flight->bytes);
            memcpy(flight->bytes, packets + at, flight->length);
        }
    }
}

/* To the next moment at which something happens. */
static void step(void)
{
    netblt_time next = world.count > 0 ? world.flights[world.first].at : NETBLT_TIME_NEVER;
    for (int i = 0; i < 2; i++)
        if (netblt_deadline(world.ends[i].endpoint) < next)
            next = netblt_deadline(world.ends[i].endpoint);
    CHECK(next != NETBLT_TIME_NEVER);
    world.now = next > world.now ? next : world.now;
    while (world.count > 0 && world.flights[world.first].at <= world.now) {
        const struct flight *flight = &world.flights[world.first];
        netblt_path path = path_of(flight->to);
        netblt_input(world.ends[flight->to].endpoint, &path, flight->bytes, flight->length, flight->length, world.now);
        world.first = (world.first + 1) % FLIGHTS_MAX;
        world.count--;
    }
    if (world.meanwhile != NULL && world.ends[0].opened > 0 && world.ends[1].opened > 0)
        world.meanwhile();
    for (int i = 0; i < 2; i++) {
        netblt_timeout(world.ends[i].endpoint, world.now);
        carry(i);
    }
}

static void prepare(bool active_sends, bool active_secret, bool passive_secret)
{
    memset(&world, 0, sizeof world);
    world.active_sends = active_sends;
    world.secrets[0] = active_secret;
    world.secrets[1] = passive_secret;
    world.now = SECOND;
    world.size = 300000;
    netblt_params_default(&world.params);
    world.params.buffer_size = 10000;
    world.params.packet_size = 1000;
    world.params.burst_size = 2;
    world.params.burst_interval_ms = 5;
    snprintf(world.params.client_string, sizeof world.params.client_string, "the active end");
    for (size_t i = 0; i < sizeof content; i++)
        content[i] = peer_byte(i);
    memset(delivered, 0, sizeof delivered);
}

static void start(void)
{
    for (int i = 0; i < 2; i++) {
        netblt_config config;
        netblt_config_default(&config);
        if (world.secrets[i])
            memset(config.secret, 11 + i, sizeof config.secret);
        world.ends[i].endpoint = netblt_endpoint_new(&config);
    }
    CHECK_EQUAL(netblt_listen(world.ends[1].endpoint, PASSIVE_PORT, accept_all, &world.ends[1]), 0);
    netblt_path path = path_of(0);
    CHECK_EQUAL(netblt_open(world.ends[0].endpoint,
                            &(netblt_open_args){.size = sizeof(netblt_open_args),
                                                .path = &path,
                                                .local_port = ACTIVE_PORT,
                                                .foreign_port = PASSIVE_PORT,
                                                .role = world.active_sends ? NETBLT_SENDER : NETBLT_RECEIVER,
                                                .unique_id = 0x77773333,
                                                .params = &world.params,
                                                .client = &client,
                                                .context = &world.ends[0],
                                                .options = {.client_features = world.features[0]}},
                            world.now, &world.ends[0].connection),
                0);
    carry(0);
}

static void run(void)
{
    start();
    while (world.ends[0].closed == 0 || world.ends[1].closed == 0)
        step();
}

static void stop(void)
{
    for (int i = 0; i < 2; i++)
        netblt_endpoint_free(world.ends[i].endpoint);
}

static void check_all_arrived(void)
{
    for (int i = 0; i < 2; i++) {
        CHECK_EQUAL(world.ends[i].result, NETBLT_DONE);
        CHECK(world.ends[i].finished == 1 && world.ends[i].closed == 1);
        CHECK_EQUAL(world.ends[i].moved, world.size);
    }
    CHECK(memcmp(content, delivered, world.size) == 0);
}

static const netblt_info *info_of_sender(void)
{
    return &world.ends[world.active_sends ? 0 : 1].info;
}

/* ---- who is guarded -------------------------------------------------------------------------------------------- */

static void two_ends_with_secrets_are_guarded_whoever_sends_and_others_transfer_all_the_same(void)
{
    for (unsigned i = 0; i < 8; i++) {
        prepare((i & 1) != 0, (i & 2) != 0, (i & 4) != 0);
        run();
        check_all_arrived();
        for (int end = 0; end < 2; end++)
            CHECK_EQUAL(world.ends[end].info.guarded, world.secrets[0] && world.secrets[1]);
        CHECK_EQUAL(world.ends[0].validated, 0);                               /* RESPONSE has validated its peer */
        CHECK(strcmp(world.ends[0].info.peer_string, "the passive end") == 0); /* without a token */
        CHECK(strcmp(world.ends[1].info.peer_string, "the active end") == 0);
        stop();
    }
}

/* Bits that no release knows are not announced. */
static void both_ends_learn_what_both_clients_do(void)
{
    for (unsigned i = 0; i < 64; i++) {
        prepare((i & 1) != 0, true, (i & 2) != 0);
        world.features[0] = (uint8_t)((i >> 2 & 3) | 0x80);
        world.features[1] = (uint8_t)((i >> 4 & 3) | 0x80);
        run();
        check_all_arrived();
        for (int end = 0; end < 2; end++)
            CHECK_EQUAL(world.ends[end].info.client_features, (i & 2) != 0 ? (i >> 2 & 3) & (i >> 4 & 3) : 0);
        CHECK_EQUAL(world.requested_features, (i & 2) != 0 ? i >> 2 & 3 : 0);
        stop();
    }
}

/* 64 packets are too many to be sent whole to an unvalidated peer. */
static void a_guarded_reader_is_validated_by_its_first_GO_and_another_by_a_RESEND(void)
{
    for (int guarded = 0; guarded < 2; guarded++) {
        prepare(false, guarded != 0, true);
        world.params.buffer_size = 64000;
        run();
        check_all_arrived();
        CHECK_EQUAL(world.ends[1].validated, 1);
        CHECK(guarded ? world.ends[0].info.stats.resends_sent == 0 : world.ends[0].info.stats.resends_sent > 0);
        CHECK_EQUAL(world.ends[1].info.stats.data_packets_sent, 300);
        CHECK_EQUAL(world.ends[1].info.stats.data_packets_retransmitted, 0);
        stop();
    }
}

/* The proof goes with them, so no time is lost by waiting. */
static void ABORT_and_QUIT_of_a_guarded_peer_are_believed_when_they_arrive(void)
{
    for (unsigned i = 0; i < 8; i++) {
        int who = (i & 2) != 0;
        prepare((i & 1) != 0, true, true);
        start();
        while (world.now < SECOND + 200 * MS)
            step();
        if ((i & 4) != 0) {
            netblt_time at = world.now;
            CHECK_EQUAL(netblt_abort(world.ends[who].connection, "the user says so", world.now), 0);
            carry(who);
            while (world.ends[1 - who].finished == 0)
                step();
            CHECK_EQUAL(world.ends[1 - who].finished_at, at + DELAY);
            CHECK_EQUAL(world.ends[1 - who].result, NETBLT_PEER_ABORTED);
        } else {
            CHECK_EQUAL(netblt_quit(world.ends[who].connection, "the user says so", world.now), 0);
            while (world.ends[0].finished == 0 || world.ends[1].finished == 0)
                step();
            CHECK_EQUAL(world.ends[1 - who].result, NETBLT_PEER_QUIT);
            CHECK_EQUAL(world.ends[who].result, NETBLT_LOCAL_QUIT);
            CHECK_EQUAL(world.ends[who].finished_at, world.ends[1 - who].finished_at + DELAY); /* QUITACK */
        }
        CHECK(strcmp(world.ends[1 - who].reason, "the user says so") == 0);
        stop();
    }
}

/* ---- a host that knows the ports and sees nothing --------------------------------------------------------------- */

static struct random dice;
static unsigned forged_each;

static void inject(int to, struct forged *packet)
{
    netblt_path path = path_of(to);
    forged_put16(packet, 4, (unsigned)packet->length);
    forged_put16(packet, 0, 0);
    forged_put16(packet, 0, peer_sum(packet->bytes, packet->covered == 0 ? packet->length : packet->covered));
    netblt_input(world.ends[to].endpoint, &path, packet->bytes, packet->length, packet->length, world.now);
    carry(to);
}

static void forge_end(struct peer *forger, struct forged *packet, int type)
{
    char reason[64] = "";
    if (random_chance(&dice, 700))
        snprintf(reason, sizeof reason, "no guard=%08x", (unsigned)random_next(&dice));
    forge_reason(forger, packet, type, reason);
}

/* One of each type that could end or change the transfer. */
static void forge_one_of_each(int to)
{
    static struct forged packet;
    static const uint8_t rubbish[1000] = {0xEE};
    static const uint16_t names[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
    struct peer forger = {.version = 2,
                          .peer_port = to == 0 ? PASSIVE_PORT : ACTIVE_PORT,
                          .our_port = to == 0 ? ACTIVE_PORT : PASSIVE_PORT,
                          .unique_id = (uint32_t)random_next(&dice)};
    static const int ends[] = {ABORT, QUIT, REFUSED}, bare[] = {KEEPALIVE, QUITACK, DONE};
    for (unsigned i = 0; i < 3; i++) {
        forge_end(&forger, &packet, ends[i]);
        inject(to, &packet);
        forge(&forger, &packet, bare[i]);
        inject(to, &packet);
        forge(&forger, &packet, CONTROL);
        unsigned seq = 1 + (unsigned)random_below(&dice, 100); /* they count from 1: any host can predict them */
        uint32_t buffer = (uint32_t)random_next(&dice);
        if (i == 0)
            forge_go(&packet, seq, buffer);
        else if (i == 1)
            forge_ok(&packet, seq, buffer, 1, 60000, 60000);
        else
            forge_resend(&packet, seq, buffer, names, 10);
        inject(to, &packet);
    }
    for (int type = DATA; type <= LDATA; type++) {
        forge_data(&forger, &packet, type, (uint32_t)random_next(&dice), type == DATA ? 3 : 9,
                   1 + (unsigned)random_below(&dice, 100), random_chance(&dice, 500), rubbish, 1000, true);
        inject(to, &packet);
    }
    for (int type = OPEN; type <= RESPONSE; type++) {
        forge_open(&forger, &packet, type, &world.params, type == OPEN);
        inject(to, &packet);
    }
}

static void attack(void)
{
    for (unsigned i = 0; i < 10; i++) {
        for (int to = 0; to < 2; to++)
            if (world.ends[to].finished == 0)
                forge_one_of_each(to);
        forged_each++;
    }
}

static void blind_packets_of_every_type_change_nothing_in_a_guarded_transfer(void)
{
    for (int active_sends = 0; active_sends < 2; active_sends++) {
        prepare(active_sends != 0, true, true);
        run();
        uint64_t sent = info_of_sender()->stats.data_packets_sent;
        netblt_time ended_at = world.ends[0].finished_at;
        CHECK_EQUAL(sent, 300);
        stop();
        dice.state = (uint64_t)active_sends + 1;
        forged_each = 0;
        prepare(active_sends != 0, true, true);
        world.meanwhile = attack;
        run();
        check_all_arrived();
        CHECK_EQUAL(info_of_sender()->stats.data_packets_sent, sent);
        CHECK_EQUAL(info_of_sender()->stats.data_packets_retransmitted, 0);
        CHECK_EQUAL(world.ends[0].finished_at, ended_at);
        printf("   %u forged packets of each of 13 types to each end\n", forged_each);
        CHECK(forged_each > 1000);
        stop();
    }
}

int main(void)
{
    RUN(two_ends_with_secrets_are_guarded_whoever_sends_and_others_transfer_all_the_same);
    RUN(both_ends_learn_what_both_clients_do);
    RUN(a_guarded_reader_is_validated_by_its_first_GO_and_another_by_a_RESEND);
    RUN(ABORT_and_QUIT_of_a_guarded_peer_are_believed_when_they_arrive);
    RUN(blind_packets_of_every_type_change_nothing_in_a_guarded_transfer);
    return 0;
}
