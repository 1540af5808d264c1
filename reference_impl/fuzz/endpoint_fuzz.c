/* SPDX-License-Identifier: BSD-2-Clause */
/* Fuzz target: one endpoint against scripted hostile peers. The input is a small program: what kind of endpoint, then
 * one instruction after another, packets and moments. Most packets are nearly right (ports, Length, checksum, unique
 * ID, numbers close to those that the endpoint expects), so that the search gets deep; some are raw bytes.
 *
 * What must hold: the oracles of station.h, and no timer without a connection. */
#include "hostile.h"

#include <string.h>

enum { STEPS_MAX = 400, LONG_STRING_BYTES = 240 };

struct fuzz {
    struct station station;
    struct hostile hosts[STATION_HOSTS_MAX];
};

static void note_sent(void *context, struct model *model, const uint8_t *packet, size_t size)
{
    struct fuzz *fuzz = context;
    hostile_learn(&fuzz->hosts[model - fuzz->station.hosts], packet, size);
}

static void open_actively(struct fuzz *fuzz, struct hostile *host, enum netblt_role role)
{
    if (host->model->connection == NULL)
        hostile_begin(host);
    station_open(&fuzz->station, host->model, role, host->unique_id);
}

static void wait_for_deadline(struct station *station)
{
    netblt_time next = netblt_deadline(station->endpoint);
    station_advance(station, next == NETBLT_TIME_NEVER ? station->now : next);
}

static void step_of_peer(struct hostile *host, struct bytes *in, unsigned op)
{
    switch (op) {
    case 3:
        hostile_raw(host, in);
        break;
    case 4:
        hostile_open(host, in, OPEN);
        break;
    case 5:
        hostile_open(host, in, RESPONSE);
        break;
    case 6:
    case 7:
        hostile_control(host, in);
        break;
    case 8:
    case 9:
        hostile_data(host, in);
        break;
    case 10:
        host->damage = take(in);
        break;
    case 11:
    case 12:
        hostile_null_ack(host, in);
        break;
    case 13:
        hostile_reason(host, take(in) % 8 == 0 ? ABORT : QUIT, take(in));
        break;
    default:
        hostile_bare(host, take(in));
        break;
    }
}

/* What happens seldom. */
static void step_of_host(struct station *station, struct hostile *host, struct bytes *in)
{
    uint8_t what = take(in);
    switch (what / 64) {
    case 0:
        hostile_becomes_another(host, what);
        break;
    case 1:
        station_misuse(station, host->model, what % 13);
        break;
    case 2:
        station->policy = (enum listener_policy)(what % POLICIES);
        break;
    default:
        station->memory_was_short = true;
        fuzz_memory_fails(what / 4 % 16, 1 + what % 4);
        break;
    }
}

static void step_of_client(struct fuzz *fuzz, struct hostile *host, struct bytes *in, unsigned op)
{
    struct station *station = &fuzz->station;
    switch (op) {
    case 15:
        station_resume(station, host->model);
        break;
    case 16:
        station_quit(station, host->model);
        break;
    case 17:
        if (take(in) % 4 == 0)
            station_abort(station, host->model);
        break;
    case 18:
        station->stall_every = take(in) % 8;
        break;
    case 19:
        open_actively(fuzz, host, NETBLT_SENDER);
        break;
    case 20:
        open_actively(fuzz, host, NETBLT_RECEIVER);
        break;
    case 21:
        step_of_host(station, host, in);
        break;
    case 22:
        station_drain(station, take(in)); /* too little room for most packets */
        break;
    default:
        station_drain(station, NETBLT_PACKET_MAX_BYTES);
        break;
    }
}

static void step(struct fuzz *fuzz, struct bytes *in)
{
    uint8_t op = take(in);
    struct hostile *host = &fuzz->hosts[(op >> 6) % STATION_HOSTS_MAX];
    if (op % 24 < 2)
        wait_for_deadline(&fuzz->station);
    else if (op % 24 == 2)
        station_advance(&fuzz->station, fuzz->station.now + (netblt_time)take16(in) * 100);
    else if (op % 24 < 15)
        step_of_peer(host, in, op % 24);
    else
        step_of_client(fuzz, host, in, op % 24);
    if ((op & 32) == 0)
        station_drain(&fuzz->station, NETBLT_PACKET_MAX_BYTES);
}

static void configure(struct fuzz *fuzz, struct bytes *in)
{
    struct station *station = &fuzz->station;
    netblt_params *limits = &station->limits;
    uint8_t kind = take(in);
    netblt_config_default(&station->config);
    station->config.first_buffer = kind & 1 ? UINT32_MAX - 1 : 0;
    station->config.unvalidated_bytes_per_s = kind & 2 ? 0 : 2048;
    station->config.unvalidated_connections = kind & 4 ? 1 : 8;
    if ((kind & 8) != 0)
        station->config.profile = &netblt_profile_mit1987;
    station->options.any_order = (kind & 16) != 0;
    station->options.rate = (kind & 32) != 0 ? NETBLT_RATE_AUTO : NETBLT_RATE_FIXED;
    netblt_params_default(limits);
    limits->packet_size = (uint16_t)(1 + take(in));
    limits->buffer_size = 1 + take16(in) % 4096;
    limits->max_buffers = (uint16_t)(1 + take(in) % 16);
    limits->burst_size = (uint16_t)(1 + take(in) % 16);
    limits->burst_interval_ms = take(in) % 32;
    limits->death_timer_s = (uint16_t)(1 + take(in) % 32);
    limits->data_checksum = (kind & 64) != 0;
    if ((kind & 128) != 0)
        memset(limits->client_string, 's', LONG_STRING_BYTES);
    uint8_t more = take(in);
    station->buffers_to_send = more % 32;
    if ((more & 32) != 0)
        memset(station->config.secret, 's', sizeof station->config.secret);
    if ((more & 64) != 0 && (kind & 2) == 0)
        station->config.unvalidated_bytes_per_s = 256 * 1024;
    station->options.confirm_end = (more & 128) != 0;
    station->last_buffer_per_256 = 128;
}

static void prepare(struct fuzz *fuzz, struct bytes *in)
{
    struct station *station = &fuzz->station;
    configure(fuzz, in);
    station->address = 1;
    station->observed = station->config.first_buffer == 0;
    station->sent = note_sent;
    station->context = fuzz;
    station_start(station, 1000000);
    for (unsigned i = 0; i < STATION_HOSTS_MAX; i++) {
        station_add_host(station, i, (uint8_t)(2 + i), (uint16_t)(100 + i), (uint8_t)(50 * i));
        fuzz->hosts[i] = (struct hostile){.station = station, .model = &station->hosts[i]};
        fuzz->hosts[i].port = (uint16_t)(100 + i);
        fuzz->hosts[i].unique_id = i;
        hostile_begin(&fuzz->hosts[i]);
    }
}

/* No peer sends anything any more: in the end every connection is over and no timer runs. */
static void let_all_end(struct station *station)
{
    fuzz_memory_fails(0, 0);
    for (int i = 0; i < 20000 && station->open_connections > 0; i++) {
        netblt_time next = netblt_deadline(station->endpoint);
        FUZZ_CHECK(next != NETBLT_TIME_NEVER);
        station_advance(station, next);
        station_drain(station, NETBLT_PACKET_MAX_BYTES);
    }
    FUZZ_CHECK(station->open_connections == 0);
    station_drain(station, NETBLT_PACKET_MAX_BYTES);
    FUZZ_CHECK(netblt_deadline(station->endpoint) == NETBLT_TIME_NEVER);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bytes in = {data, size};
    struct fuzz *fuzz = fuzz_calloc(1, sizeof *fuzz);
    prepare(fuzz, &in);
    for (int i = 0; i < STEPS_MAX && in.left > 0; i++)
        step(fuzz, &in);
    let_all_end(&fuzz->station);
    for (unsigned i = 0; i < STATION_HOSTS_MAX; i++)
        FUZZ_CHECK(fuzz->station.hosts[i].connection == NULL);
    station_free(&fuzz->station);
    free(fuzz);
    return 0;
}
