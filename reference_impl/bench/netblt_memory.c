/* SPDX-License-Identifier: BSD-2-Clause */
/* NETBLT from memory to memory, on the library and its driver and nothing else: no files, no digests.
 *     netblt_memory recv [options]                takes one transfer; JSON when it ends or at SIGTERM
 *     netblt_memory send [options] HOST SECONDS   sends for so long; JSON when it ends
 * Options: --encap ip|udp, --packet BYTES, --buffer BYTES, --buffers N, --burst PACKETS, --interval MS, --no-checksum,
 * --rate auto (at both ends: measure and follow, instead of keeping burst size and interval),
 * --af-packet (send raw IP by a packet socket), --lateness (of a sender: how late bursts were given to the kernel). */
#include <errno.h>
#include <getopt.h>
#include <unistd.h>

#include "io/clock.h"
#include "io/driver.h"
#include "io/entropy.h"
#include "io/privileges.h"
#include "io/resolve.h"
#include "io/route.h"
#include "peers/meter.h"

#define NETBLT_PORT 1
/* 44 packets of 1448 bytes, one segmented send, times 4 */
#define BUFFER_BYTES_DEFAULT 254848
#define BUFFERS_DEFAULT 16

typedef struct bench {
    enum netblt_encap encap;
    netblt_params params;
    enum netblt_rate rate;
    bool packet_given;
    bool by_packet_socket;
    double seconds;

    netblt_link *link;
    netblt_loop *loop;
    netblt_driver *driver;
    netblt_endpoint *endpoint;

    char *set;
    size_t slots; /* buffers that fit into the working set */
    meter account;
    uint64_t supplied;
    uint64_t until_us;
    bool closed;
    netblt_outcome outcome;
    netblt_info info;

    netblt_time planned_at;    /* when the next burst is due, before the wait for it */
    struct lateness *lateness; /* NULL: not wanted */
} bench;

/* Microseconds from the planned start of a burst to the moment when its first packets were given to the kernel. */
#define LATENESS_MAX 1000000
struct lateness {
    size_t count;
    uint32_t us[LATENESS_MAX];
};

static bench work;

static int fail(const char *what)
{
    fprintf(stderr, "netblt_memory: %s\n", what);
    return 2;
}

/* ---- the client -------------------------------------------------------------------------------------------------- */

/* Buffers take the working set in turn. As there are far more slots than outstanding buffers, none is in use twice. */
static char *slot(uint64_t index)
{
    return work.set + (size_t)(index % work.slots) * work.params.buffer_size;
}

static enum netblt_send_buffer get_send_buffer(void *context, netblt_connection *connection, uint64_t index,
                                               uint32_t capacity, const uint8_t **data, uint32_t *length, bool *last)
{
    (void)context;
    (void)connection;
    *data = (const uint8_t *)slot(index);
    *length = capacity;
    *last = meter_stop || netblt_clock_now() >= work.until_us;
    return NETBLT_SEND_BUFFER_READY;
}

static uint8_t *get_receive_buffer(void *context, netblt_connection *connection, uint64_t index, uint32_t capacity)
{
    (void)context;
    (void)connection;
    (void)capacity;
    return (uint8_t *)slot(index);
}

static void deliver(void *context, netblt_connection *connection, uint64_t index, uint8_t *data, uint32_t length,
                    bool last)
{
    (void)context;
    (void)connection;
    (void)index;
    (void)data;
    (void)last;
    meter_add(&work.account, length);
}

static void adopt(netblt_connection *connection)
{
    netblt_get_info(connection, &work.info);
    work.params = work.info.negotiated;
    work.slots = WORKING_SET_BYTES / work.params.buffer_size;
}

static void opened(void *context, netblt_connection *connection)
{
    (void)context;
    adopt(connection);
    work.until_us = netblt_clock_now() + (uint64_t)(work.seconds * 1e6);
}

static void finished(void *context, netblt_connection *connection, const netblt_outcome *outcome)
{
    (void)context;
    work.outcome = *outcome;
    netblt_get_info(connection, &work.info);
    if (work.info.role == NETBLT_RECEIVER)
        work.closed = true;
}

static void closed(void *context, netblt_connection *connection)
{
    (void)context;
    (void)connection;
    work.closed = true;
}

static const netblt_client client = {.size = sizeof(netblt_client),
                                     .get_send_buffer = get_send_buffer,
                                     .get_receive_buffer = get_receive_buffer,
                                     .deliver = deliver,
                                     .opened = opened,
                                     .finished = finished,
                                     .closed = closed};

static void accept_any(void *context, const netblt_request *request, netblt_answer *answer)
{
    (void)context;
    answer->accept = request->role == NETBLT_RECEIVER &&
                     (size_t)request->proposed.buffer_size * (request->proposed.max_buffers + 2u) <= WORKING_SET_BYTES;
    snprintf(answer->reason, sizeof answer->reason, "not with this benchmark");
    answer->limits = request->proposed;
    answer->client = &client;
    answer->options.any_order = true;
    answer->options.beyond_4g = true;
    answer->options.rate = work.rate;
    work.slots = WORKING_SET_BYTES / request->proposed.buffer_size;
    work.params = request->proposed;
}

/* ---- both ends ----------------------------------------------------------------------------------------------------
 */

static void on_network_error(void *context, const netblt_network_error *error)
{
    (void)context;
    fprintf(stderr, "netblt_memory: the network reports: %s\n", strerror(error->error));
}

/* Only the first run that leaves after a wait begins a burst, and only of one whose time had not come before. */
static void watch_bursts(void *context, const netblt_passing *passing)
{
    struct lateness *all = context;
    if (!passing->sent || work.planned_at == 0 || passing->at < work.planned_at || all->count == LATENESS_MAX)
        return;
    all->us[all->count++] = (uint32_t)(passing->at - work.planned_at);
    work.planned_at = 0;
}

static void plan_burst(void)
{
    netblt_time due = netblt_deadline(work.endpoint);
    work.planned_at = due > netblt_clock_now() ? due : 0;
}

static int compare_us(const void *a, const void *b)
{
    uint32_t left = *(const uint32_t *)a;
    uint32_t right = *(const uint32_t *)b;
    return left < right ? -1 : left > right;
}

static void print_lateness(struct lateness *all)
{
    qsort(all->us, all->count, sizeof all->us[0], compare_us);
    if (all->count > 0)
        printf("{\"bursts\": %zu, \"late_p50_us\": %" PRIu32 ", \"late_p99_us\": %" PRIu32 ", \"late_max_us\": %" PRIu32
               "}\n",
               all->count, all->us[all->count / 2], all->us[all->count - 1 - all->count / 100],
               all->us[all->count - 1]);
}

static int set_up(const netblt_address *address, uint16_t udp_port, netblt_failure *failure)
{
    netblt_config config;
    netblt_config_default(&config);
    work.endpoint = netblt_endpoint_new(&config);
    work.loop = netblt_loop_new();
    if (work.endpoint == NULL || work.loop == NULL)
        return fail("no memory");
    if (netblt_link_bind(work.link, address, udp_port, failure) != 0)
        return fail(failure->text);
    work.driver = netblt_driver_new(work.loop, work.link, work.endpoint, on_network_error, NULL, failure);
    if (work.driver == NULL)
        return fail(failure->text);
    if (work.lateness != NULL)
        netblt_driver_set_tap(work.driver, watch_bursts, work.lateness);
    return 0;
}

static int run(bool is_sender)
{
    while (!work.closed && !(meter_stop && !is_sender)) {
        if (work.lateness != NULL)
            plan_burst();
        netblt_driver_wait(work.driver, netblt_clock_now() + 100000);
        netblt_driver_serve(work.driver);
    }
    netblt_driver_flush(work.driver);
    if (!is_sender)
        meter_print(&work.account);
    else
        printf("{\"result\": \"%s\", \"bytes\": %" PRIu64 ", \"packets_sent\": %" PRIu64
               ", \"packets_retransmitted\": %" PRIu64 ", \"retries\": %" PRIu64 ", \"data_packets\": %" PRIu64 "}\n",
               netblt_result_name(work.outcome.result), work.info.stats.payload_bytes, work.info.stats.packets_sent,
               work.info.stats.data_packets_retransmitted, netblt_driver_get_counts(work.driver).retries,
               work.info.stats.data_packets_sent);
    if (work.lateness != NULL)
        print_lateness(work.lateness);
    return work.outcome.result == NETBLT_DONE || meter_stop ? 0 : 1;
}

static int receive(netblt_failure *failure)
{
    netblt_address any = netblt_address_any(NETBLT_FAMILY_ANY);
    if (set_up(&any, NETBLT_UDP_PORT_DEFAULT, failure) != 0)
        return 2;
    if (netblt_driver_own_port(work.driver, &any, NETBLT_PORT, true, failure) != 0)
        return fail(failure->text);
    if (netblt_listen(work.endpoint, NETBLT_PORT, accept_any, NULL) != 0)
        return fail("cannot listen");
    return run(false);
}

static int open_transfer(const netblt_address *peer, const netblt_route *route, netblt_failure *failure)
{
    netblt_path path = {.local = netblt_link_local(work.link, &route->source), .foreign = *peer};
    const netblt_options options = {.beyond_4g = true, .rate = work.rate};
    netblt_connection *connection;
    uint16_t port;
    if (netblt_driver_own_any_port(work.driver, &route->source, &port, failure) != 0)
        return fail(failure->text);
    if (netblt_open(work.endpoint,
                    &(netblt_open_args){.size = sizeof(netblt_open_args),
                                        .path = &path,
                                        .local_port = port,
                                        .foreign_port = NETBLT_PORT,
                                        .role = NETBLT_SENDER,
                                        .unique_id = netblt_random_u32(),
                                        .params = &work.params,
                                        .client = &client,
                                        .options = options},
                    netblt_clock_now(), &connection) != 0)
        return fail("cannot open the transfer: wrong parameters");
    return 0;
}

static int send_for(const char *host, double seconds, netblt_failure *failure)
{
    netblt_address any = netblt_address_any(NETBLT_FAMILY_ANY);
    netblt_address peer;
    netblt_route route;
    size_t overhead;
    work.seconds = seconds;
    if (netblt_resolve(host, NETBLT_FAMILY_ANY, &peer, failure) != 0 ||
        netblt_route_lookup(&peer, &any, &route, failure) != 0)
        return fail(failure->text);
    overhead = netblt_encap_overhead_bytes(work.encap, netblt_address_family(&peer)) + NETBLT_DATA_HEADER_BYTES;
    if (!work.packet_given && route.mtu < 65535)
        work.params.packet_size = (uint16_t)((route.mtu - overhead) / 4 * 4);
    if (set_up(&route.source, 0, failure) != 0)
        return 2;
    peer = netblt_address_with_port(&peer, work.encap == NETBLT_ENCAP_UDP ? NETBLT_UDP_PORT_DEFAULT : 0);
    netblt_link_connect(work.link, &peer);
    if (open_transfer(&peer, &route, failure) != 0)
        return 2;
    return run(true);
}

/* ---- the command line ---------------------------------------------------------------------------------------------
 */

static const struct option words[] = {
    {"encap", required_argument, NULL, 'e'},
    {"packet", required_argument, NULL, 'p'},
    {"buffer", required_argument, NULL, 'b'},
    {"buffers", required_argument, NULL, 'n'},
    {"burst", required_argument, NULL, 's'},
    {"interval", required_argument, NULL, 'i'},
    {"no-checksum", no_argument, NULL, 'c'},
    {"rate", required_argument, NULL, 'r'},
    {"af-packet", no_argument, NULL, 'a'},
    {"lateness", no_argument, NULL, 'l'},
    {NULL, 0, NULL, 0},
};

static bool take_option(int option)
{
    const char *text = optarg == NULL ? "" : optarg;
    unsigned long value = strtoul(text, NULL, 10);
    switch (option) {
    case 'e':
        work.encap = strcmp(text, "ip") == 0 ? NETBLT_ENCAP_IP : NETBLT_ENCAP_UDP;
        return true;
    case 'p':
        work.params.packet_size = (uint16_t)value;
        work.packet_given = true;
        return true;
    case 'b':
        work.params.buffer_size = (uint32_t)value;
        return true;
    case 'n':
        work.params.max_buffers = (uint16_t)value;
        return true;
    case 's':
        work.params.burst_size = (uint16_t)value;
        return true;
    case 'i':
        work.params.burst_interval_ms = (uint16_t)value;
        return true;
    case 'r':
        work.rate = strcmp(text, "auto") == 0 ? NETBLT_RATE_AUTO : NETBLT_RATE_FIXED;
        return true;
    case 'c':
        work.params.data_checksum = false;
        return true;
    case 'a':
        work.by_packet_socket = true;
        return true;
    case 'l':
        work.lateness = calloc(1, sizeof *work.lateness);
        return work.lateness != NULL;
    default:
        return false;
    }
}

int main(int argc, char **argv)
{
    netblt_failure failure = {0};
    int option;
    work.encap = NETBLT_ENCAP_UDP;
    netblt_params_default(&work.params);
    work.params.buffer_size = BUFFER_BYTES_DEFAULT;
    work.params.max_buffers = BUFFERS_DEFAULT;
    work.params.burst_interval_ms = 0;
    work.params.burst_size = 44;
    while ((option = getopt_long(argc, argv, "", words, NULL)) != -1)
        if (!take_option(option))
            return fail("usage: netblt_memory recv [options] | netblt_memory send [options] HOST SECONDS");
    meter_take_signals();
    work.set = meter_working_set();
    work.link = netblt_link_open(work.encap, NETBLT_FAMILY_ANY, &failure);
    if (work.link == NULL ||
        (work.by_packet_socket && netblt_link_transmit_by_packet_socket(work.link, &failure) != 0) ||
        netblt_privileges_reduce(NULL, &failure) != 0 || netblt_privileges_drop(&failure) != 0)
        return fail(failure.text);
    if (argc - optind == 1 && strcmp(argv[optind], "recv") == 0)
        return receive(&failure);
    if (argc - optind == 3 && strcmp(argv[optind], "send") == 0)
        return send_for(argv[optind + 1], strtod(argv[optind + 2], NULL), &failure);
    return fail("usage: netblt_memory recv [options] | netblt_memory send [options] HOST SECONDS");
}
