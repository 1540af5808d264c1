/* SPDX-License-Identifier: BSD-2-Clause */
/* --path measure: see station.h. */
#include "cli/report/report.h"
#include "cli/transfer/station.h"
#include "io/clock.h"
#include "io/entropy.h"

/* As long as a peer beyond two satellites takes; without an answer the transfer is only so much later. */
#define MEASURE_MAX_US 3000000
/* Ports at which no process waits: active ends choose theirs here. */
#define UNOWNED_PORT_FIRST 49152u
#define UNOWNED_PORTS 16384u

struct probe {
    netblt_connection *connection;
    netblt_time answered_at; /* 0 = not yet */
    bool closed;
};

static uint8_t *provide_nothing(void *context, netblt_connection *connection, uint64_t index, uint32_t capacity)
{
    (void)context;
    (void)connection;
    (void)index;
    (void)capacity;
    return NULL;
}

/* A peer waits there after all: it gets an ABORT at once, and its RESPONSE has shown the round trip. */
static void opened(void *context, netblt_connection *connection)
{
    struct probe *probe = context;
    probe->answered_at = netblt_clock_now();
    netblt_abort(connection, "only measuring the round trip", probe->answered_at);
}

static void finished(void *context, netblt_connection *connection, const netblt_outcome *outcome)
{
    struct probe *probe = context;
    (void)connection;
    if (outcome->result == NETBLT_REFUSED)
        probe->answered_at = netblt_clock_now();
}

static void closed(void *context, netblt_connection *connection)
{
    struct probe *probe = context;
    (void)connection;
    probe->connection = NULL;
    probe->closed = true;
}

static const netblt_client probe_client = {
    .size = sizeof(netblt_client),
    .get_receive_buffer = provide_nothing,
    .opened = opened,
    .finished = finished,
    .closed = closed,
};

static uint16_t unowned_port(const options *given)
{
    uint16_t port = (uint16_t)(UNOWNED_PORT_FIRST + netblt_random_u32() % UNOWNED_PORTS);
    return port == (uint16_t)given->port.value ? port ^ 1 : port;
}

static netblt_time patience(const options *given)
{
    uint64_t wanted = options_number_or(given->open_timeout_s, MEASURE_MAX_US / 1000000) * 1000000;
    return wanted < MEASURE_MAX_US ? wanted : MEASURE_MAX_US;
}

static void wait_for_answer(station *net, struct probe *probe)
{
    while (!probe->closed && net->interrupts.count == 0 && net->network_errors == 0)
        station_round(net, NETBLT_TIME_NEVER);
    if (probe->connection != NULL)
        netblt_abort(probe->connection, "only measuring the round trip", netblt_clock_now());
    netblt_driver_flush(net->driver);
}

static void tell(station *net, const struct probe *probe)
{
    if (net->interrupts.count > 0)
        return;
    if (probe->answered_at != 0)
        report_note("round trip to %s: %.1f ms", net->given->host, net->round_trip_s * 1e3);
    else if (net->network_errors == 0)
        report_note("%s did not let its round trip be measured: going on without", net->given->host);
}

/* From the first OPEN: a lost one makes the result longer, which costs memory and not speed. */
int round_trip_measure(station *net)
{
    struct probe probe = {0};
    netblt_params params;
    netblt_info info;
    netblt_open_args args = {.role = NETBLT_RECEIVER, /* asks to be sent something: at worst it is */
                             .params = &params,
                             .client = &probe_client,
                             .context = &probe,
                             .foreign_port = unowned_port(net->given),
                             .options = station_connection_options(net, false)};
    netblt_time began_at = netblt_clock_now();
    args.options.open_timeout_us = patience(net->given);
    netblt_params_default(&params);
    if (station_connect(net, &args, &probe.connection) != 0)
        return -1;
    netblt_get_info(probe.connection, &info);
    wait_for_answer(net, &probe);
    netblt_driver_disown_port(net->driver, info.local_port);
    if (probe.answered_at > began_at)
        net->round_trip_s = (double)(probe.answered_at - began_at) / 1e6;
    tell(net, &probe);
    return 0;
}
