/* SPDX-License-Identifier: BSD-2-Clause */
/* Fuzz target: two endpoints with an adversarial network between them, in virtual time. The input states what is
 * transferred over which path, and then what happens: faults of the network, calls of the clients, old packets again.
 * In the end the network heals.
 *
 * What must hold: the oracles of station.h at both ends; a transfer that runs when the network heals succeeds at both
 * ends; no peer is taken for dead without a fault. */
#include "bytes.h"
#include "network.h"
#include "station.h"

#include <string.h>

#define LONG_DELAY_UNIT_US 40000
#define OPEN_TIMEOUT_US UINT64_C(3000000)
#define RATE_LIMIT_PACKETS_PER_S 700
#define HOUR_US UINT64_C(3600000000)

enum {
    STEPS_MAX = 200,
    EVENTS_MAX = 20000,     /* of an input */
    IDLE_EVENTS_MAX = 6000, /* without a buffer delivered, on a healed network */
    FIRST_PORT = 1000,
};

struct pair {
    struct station ends[2]; /* end 0 opens */
    struct network network;
    netblt_time now;
    unsigned events;
    uint16_t next_port;
    enum netblt_role role; /* of end 0 */
    bool was_dead[2];
};

static struct model *model_of(struct pair *pair, int end)
{
    return &pair->ends[end].hosts[0];
}

static void note_sent(void *context, struct model *model, const uint8_t *packet, size_t size)
{
    struct pair *pair = context;
    network_send(&pair->network, model->station == &pair->ends[0] ? 1 : 0, packet, size, pair->now);
}

/* ---- events ---------------------------------------------------------------------------------------------------- */

static void stop_trusting(struct pair *pair)
{
    for (int i = 0; i < 2; i++)
        pair->ends[i].expect.peer_is_ours = false;
}

static void drain(struct pair *pair)
{
    for (int i = 0; i < 2; i++)
        station_drain(&pair->ends[i], NETBLT_PACKET_MAX_BYTES);
    if (pair->network.forged)
        stop_trusting(pair);
}

/* PEER_DEAD is right only if a fault, or the end of the other connection, kept its packets away. */
static void check_deaths(struct pair *pair)
{
    for (int i = 0; i < 2; i++) {
        const struct model *model = model_of(pair, i), *other = model_of(pair, 1 - i);
        bool dead = model->finished == 1 && model->result == NETBLT_PEER_DEAD;
        if (!dead || pair->was_dead[i] || !pair->ends[i].expect.peer_is_ours) {
            pair->was_dead[i] = dead;
            continue;
        }
        pair->was_dead[i] = true;
        netblt_time patience = 2 * (netblt_time)model->info.negotiated.death_timer_s * 1000000;
        bool fault = pair->network.fault_at != 0 && pair->now < pair->network.fault_at + patience;
        bool other_lives = other->connection != NULL && other->is_open && other->finished == 0 &&
                           other->local_port == model->foreign_port && other->foreign_port == model->local_port;
        FUZZ_CHECK(fault || !other_lives);
    }
}

static netblt_time next_event(struct pair *pair)
{
    netblt_time next = network_next(&pair->network);
    for (int i = 0; i < 2; i++) {
        netblt_time deadline = netblt_deadline(pair->ends[i].endpoint);
        next = deadline < next ? deadline : next;
    }
    return next;
}

/* Everything that is due at one moment. False: nothing will ever happen again. */
static bool run_event(struct pair *pair)
{
    struct flight *flight;
    netblt_time next = next_event(pair);
    if (next == NETBLT_TIME_NEVER)
        return false;
    pair->now = next > pair->now ? next : pair->now;
    pair->events++;
    pair->ends[0].now = pair->ends[1].now = pair->now;
    while ((flight = network_arrival(&pair->network, pair->now)) != NULL) {
        struct station *station = &pair->ends[flight->to];
        station_input(station, &station->hosts[0], flight->packet, flight->size);
        free(flight);
    }
    for (int i = 0; i < 2; i++)
        station_advance(&pair->ends[i], pair->now);
    drain(pair);
    check_deaths(pair);
    return true;
}

static void run_events(struct pair *pair, unsigned count)
{
    for (unsigned i = 0; i < count && pair->events < EVENTS_MAX; i++)
        if (!run_event(pair))
            return;
}

/* ---- instructions ---------------------------------------------------------------------------------------------- */

/* A transfer, on a port of its own, so that old packets cannot be taken for its own. */
static void open_transfer(struct pair *pair)
{
    struct model *model = model_of(pair, 0);
    if (model->connection != NULL)
        return;
    model->local_port = pair->next_port++;
    station_open(&pair->ends[0], model, pair->role, pair->next_port * 7919u);
}

static void set_fault(struct pair *pair, enum network_fault fault, struct bytes *in, uint8_t op)
{
    struct network_lane *lane = &pair->network.lanes[op >> 7];
    lane->fault = fault;
    lane->fault_count = 1 + take(in) % 8;
    lane->place = take(in);
    lane->value = take(in);
}

static void change_path(struct pair *pair, struct bytes *in, uint8_t op)
{
    struct network_lane *lane = &pair->network.lanes[op >> 7];
    lane->packet_us = (netblt_time)take(in) * 40;
    lane->queue_packets = 1 + take(in);
    uint8_t chance = take(in);
    lane->loss_permille = chance % 16 * 8;
    lane->scatter_us = (netblt_time)(chance / 16) * 500;
    if ((op & 64) == 0)
        return;
    lane->delay_us = (netblt_time)take(in) * LONG_DELAY_UNIT_US;
    pair->network.fault_at = pair->now + HOUR_US; /* death timers may well be shorter */
}

static void hold_up(struct pair *pair, struct bytes *in)
{
    if (pair->now > pair->network.fault_at)
        pair->network.fault_at = pair->now;
    pair->now += (netblt_time)take16(in) * 50;
}

static void run_short_of_memory(struct pair *pair, struct bytes *in)
{
    uint8_t how = take(in);
    pair->ends[0].memory_was_short = pair->ends[1].memory_was_short = true;
    fuzz_memory_fails(how / 4, 1 + how % 4);
}

static void step(struct pair *pair, struct bytes *in)
{
    uint8_t op = take(in);
    int end = op >> 7;
    switch (op % 16) {
    default:
        run_events(pair, 1u << take(in) % 13);
        break;
    case 4:
        set_fault(pair, FAULT_DROP, in, op);
        break;
    case 5:
        set_fault(pair, FAULT_REPEAT, in, op);
        break;
    case 6:
        set_fault(pair, FAULT_DAMAGE, in, op);
        break;
    case 7:
        set_fault(pair, FAULT_DELAY, in, op);
        break;
    case 8:
        set_fault(pair, (op & 64) != 0 ? FAULT_FORGE : FAULT_SHORTEN, in, op);
        break;
    case 9:
        network_replay(&pair->network, take(in), pair->now);
        break;
    case 10:
        pair->network.cut_until = pair->now + (netblt_time)take(in) * 20000;
        break;
    case 11:
        if ((op & 64) != 0)
            run_short_of_memory(pair, in);
        pair->ends[end].stall_every = take(in) % 6;
        station_resume(&pair->ends[end], model_of(pair, end));
        break;
    case 12:
        station_quit(&pair->ends[end], model_of(pair, end));
        break;
    case 13:
        if (take(in) % 4 == 0)
            station_abort(&pair->ends[end], model_of(pair, end));
        break;
    case 14:
        if ((op & 64) != 0)
            open_transfer(pair);
        else
            hold_up(pair, in);
        break;
    case 15:
        change_path(pair, in, op);
        break;
    }
    drain(pair);
}

/* ---- beginning and end ----------------------------------------------------------------------------------------- */

static void configure_end(struct pair *pair, int end, uint8_t kind)
{
    struct station *station = &pair->ends[end];
    netblt_config_default(&station->config);
    station->config.first_buffer = kind & 1 ? UINT32_MAX - 1 : 0;
    station->config.unvalidated_bytes_per_s = kind & 2 ? 4096 : 128 * 1024;
    station->observed = (kind & 128) != 0;
    if ((kind & 8) != 0)
        station->config.profile = &netblt_profile_mit1987;
    station->options.any_order = (kind & 16) != 0;
    station->options.rate = (kind & 32) != 0 ? NETBLT_RATE_AUTO : NETBLT_RATE_FIXED;
    station->expect = (struct expectations){.peer_is_ours = true, .drained_at_once = true};
    station->address = (uint8_t)(1 + end);
    station->partner = model_of(pair, 1 - end);
    station->sent = note_sent;
    station->context = pair;
}

static void configure_transfer(struct pair *pair, struct bytes *in, uint8_t kind)
{
    netblt_params params;
    netblt_params_default(&params);
    params.packet_size = (uint16_t)(1 + take(in));
    params.buffer_size = params.packet_size * (1u + take(in) % 32) - take(in) % params.packet_size;
    uint8_t more = take(in);
    params.max_buffers = (uint16_t)(1 + more % 16);
    params.burst_size = (uint16_t)(1 + take(in) % 32);
    params.burst_interval_ms = take(in) % 64;
    params.death_timer_s = (uint16_t)(2 + take(in) % 30);
    params.data_checksum = (kind & 64) != 0;
    uint64_t buffers = 1 + take(in) % 32;
    if ((kind & 4) != 0)
        buffers *= 16;
    uint8_t last = take(in);
    for (int i = 0; i < 2; i++) {
        pair->ends[i].limits = params;
        pair->ends[i].buffers_to_send = buffers;
        pair->ends[i].last_buffer_per_256 = last;
        pair->ends[i].options.confirm_end = (more & 64) != 0;
        pair->ends[i].options.client_features = (more & 128) != 0 ? NETBLT_CLIENT_FEATURES : 0;
        if ((more >> i & 16) != 0)
            memset(pair->ends[i].config.secret, 's' + i, NETBLT_SECRET_BYTES);
        pair->network.lanes[i].delay_us = (netblt_time)(1 + take(in)) * 400;
    }
}

static void prepare(struct pair *pair, struct bytes *in)
{
    uint8_t kind = take(in), other_kind = take(in);
    pair->now = 1000000;
    pair->next_port = FIRST_PORT;
    pair->role = other_kind & 4 ? NETBLT_RECEIVER : NETBLT_SENDER;
    pair->network.random = kind;
    configure_end(pair, 0, kind);
    configure_end(pair, 1, other_kind);
    configure_transfer(pair, in, kind);
    for (int i = 0; (other_kind & 64) != 0 && i < 2; i++) {
        pair->ends[i].options.rate_limit_bps = 8u * RATE_LIMIT_PACKETS_PER_S * pair->ends[i].limits.packet_size;
        pair->ends[i].options.open_timeout_us = OPEN_TIMEOUT_US;
    }
    for (int i = 0; i < 2; i++) {
        station_start(&pair->ends[i], pair->now);
        station_add_host(&pair->ends[i], 0, (uint8_t)(2 - i), STATION_PORT, (uint8_t)(100 * i));
    }
    open_transfer(pair);
    drain(pair);
}

static bool runs(const struct model *model)
{
    return model->connection != NULL && model->is_open && model->finished == 0 && !model->quit_called;
}

static uint64_t progress(struct pair *pair)
{
    return model_of(pair, 0)->payload_bytes + model_of(pair, 1)->payload_bytes;
}

static void check_result(const struct model *model)
{
    /* check_deaths() has looked at the deaths. */
    bool excused = model->result == NETBLT_PEER_DEAD || !model->validated || model->station->memory_was_short;
    FUZZ_CHECK(model->result == NETBLT_DONE || excused);
}

static void give_up(struct pair *pair)
{
    for (int i = 0; i < 2; i++)
        station_abort(&pair->ends[i], model_of(pair, i));
    drain(pair);
}

/* The network is good from now on: each transfer from now on succeeds, and in the end no timer runs. */
static void let_all_end(struct pair *pair)
{
    bool both_run = runs(model_of(pair, 0)) && runs(model_of(pair, 1)) && pair->ends[0].expect.peer_is_ours &&
                    model_of(pair, 0)->info.unique_id == model_of(pair, 1)->info.unique_id;
    network_heal(&pair->network);
    fuzz_memory_fails(0, 0);
    uint64_t before = 0;
    unsigned idle = 0;
    for (int i = 0; i < 2; i++) {
        pair->ends[i].stall_every = 0;
        station_resume(&pair->ends[i], model_of(pair, i));
    }
    drain(pair);
    while (pair->ends[0].open_connections + pair->ends[1].open_connections > 0) {
        FUZZ_CHECK(run_event(pair));
        idle = progress(pair) != before ? 0 : idle + 1;
        before = progress(pair);
        /* Two honest ends can wait for each other for ever after a forged acknowledgement. They can also after a late
         * copy of an OPEN, if the passive end has died with its peer unvalidated: the copy makes a second connection
         * there, which waits for control messages that the active end does not send again. */
        FUZZ_CHECK(idle < IDLE_EVENTS_MAX || !pair->ends[0].expect.peer_is_ours || model_of(pair, 1)->reopened);
        if (idle == IDLE_EVENTS_MAX)
            give_up(pair);
    }
    while (run_event(pair))
        ;
    for (int i = 0; both_run && !model_of(pair, 1)->reopened && i < 2; i++)
        check_result(model_of(pair, i));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bytes in = {data, size};
    struct pair *pair = fuzz_calloc(1, sizeof *pair);
    prepare(pair, &in);
    for (int i = 0; i < STEPS_MAX && in.left > 0 && pair->events < EVENTS_MAX; i++)
        step(pair, &in);
    let_all_end(pair);
    for (int i = 0; i < 2; i++)
        station_free(&pair->ends[i]);
    network_free(&pair->network);
    free(pair);
    return 0;
}
