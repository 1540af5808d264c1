/* SPDX-License-Identifier: BSD-2-Clause */
#include "io/driver.h"

#include <stdlib.h>
#include <sys/epoll.h>

#include "io/clock.h"
#include "io/entropy.h"
#include "io/port_table.h"

/* One staging buffer holds one run: as much as one segmented send may carry. */
#define STAGING_BYTES 65536
/* An unpaced transfer (burst interval 0) could send for ever: look for control packets after so many runs. */
#define RUNS_PER_ROUND 8
/* Likewise for what arrives: the endpoint must get to answer. */
#define BATCHES_PER_ROUND 8
/* An interface whose queue is full drains some packets in this time, even at 10 Mb/s. */
#define CONGESTION_PAUSE_US 1000

#define EPHEMERAL_PORT_FIRST 49152u
#define EPHEMERAL_PORTS 16384u
/* With half of all ephemeral ports taken, one in a million searches fails after so many tries. */
#define EPHEMERAL_TRIES 20

struct netblt_driver {
    netblt_loop *loop;
    netblt_link *link;
    netblt_endpoint *endpoint;
    netblt_network_error_fn *report;
    void *report_context;
    netblt_port_table ports;
    netblt_driver_counts counts;

    /* A run that the socket did not take whole: nothing else may leave before its rest. */
    uint8_t *staging;
    netblt_output run;
    size_t next; /* first packet of `run` not yet sent; run.count = none left */
    bool waiting_for_writable;
    bool watching_writable; /* the loop has been asked for it */
    netblt_time retry_at;   /* congested until then */
    bool more_to_send;      /* sending stopped for fairness only */
};

/* ICMP errors come to every raw socket: only those for our own ports are ours. */
static void report_if_ours(void *context, const netblt_network_error *error)
{
    netblt_driver *driver = context;
    bool ours = error->local_port == 0 ? driver->ports.encap == NETBLT_ENCAP_UDP
                                       : netblt_port_table_owns(&driver->ports, error->local_port);

    if (ours && driver->report != NULL)
        driver->report(driver->report_context, error);
}

static void report_lost_packet(void *context, const netblt_network_error *error)
{
    netblt_driver *driver = context;

    driver->counts.packets_lost++;
    report_if_ours(driver, error);
}

static void take_in(netblt_driver *driver, const netblt_arrival *arrival, netblt_time now)
{
    if (netblt_port_table_admits(&driver->ports, &arrival->path, arrival->packets, arrival->length, now))
        (void)netblt_input(driver->endpoint, &arrival->path, arrival->packets, arrival->length, arrival->segment_bytes,
                           now); /* packets that cannot be used are counted there */
}

static void read_packets(netblt_driver *driver)
{
    netblt_arrival arrivals[NETBLT_LINK_BATCH];
    bool more = true;

    for (unsigned batch = 0; more && batch < BATCHES_PER_ROUND; batch++) {
        unsigned count = netblt_link_receive(driver->link, arrivals, &more);
        netblt_time now = netblt_clock_now();

        for (unsigned i = 0; i < count; i++)
            take_in(driver, &arrivals[i], now);
    }
}

static void socket_ready(void *context, uint32_t events)
{
    netblt_driver *driver = context;

    if ((events & EPOLLOUT) != 0)
        driver->waiting_for_writable = false;
    if ((events & EPOLLIN) != 0)
        read_packets(driver);
    if ((events & EPOLLERR) != 0) /* after the packets: a peer's last word explains why it is gone */
        netblt_link_read_errors(driver->link, report_if_ours, driver);
}

static int watch_socket(netblt_driver *driver)
{
    uint32_t events = EPOLLIN | (driver->waiting_for_writable ? (uint32_t)EPOLLOUT : 0);

    driver->watching_writable = driver->waiting_for_writable;
    return netblt_loop_watch(driver->loop, netblt_link_fd(driver->link), events, socket_ready, driver);
}

netblt_driver *netblt_driver_new(netblt_loop *loop, netblt_link *link, netblt_endpoint *endpoint,
                                 netblt_network_error_fn *report, void *context, netblt_failure *failure)
{
    netblt_driver *driver = calloc(1, sizeof *driver);
    uint8_t *staging = malloc(STAGING_BYTES);

    if (driver == NULL || staging == NULL) {
        free(driver);
        free(staging);
        netblt_fail(failure, NETBLT_FAILURE_LOCAL, "not enough memory to send packets");
        return NULL;
    }
    *driver = (netblt_driver){.loop = loop,
                              .link = link,
                              .endpoint = endpoint,
                              .report = report,
                              .report_context = context,
                              .staging = staging};
    netblt_port_table_init(&driver->ports, netblt_link_encap(link));
    netblt_clock_make_precise();
    if (watch_socket(driver) != 0) {
        netblt_driver_free(driver);
        netblt_fail(failure, NETBLT_FAILURE_LOCAL, "cannot wait for the socket");
        return NULL;
    }
    return driver;
}

void netblt_driver_free(netblt_driver *driver)
{
    if (driver == NULL)
        return;
    netblt_loop_unwatch(driver->loop, netblt_link_fd(driver->link));
    netblt_port_table_free(&driver->ports);
    free(driver->staging);
    free(driver);
}

int netblt_driver_own_port(netblt_driver *driver, struct in_addr address, uint16_t port, bool passive,
                           netblt_failure *failure)
{
    return netblt_port_table_add(&driver->ports, address, port, passive, failure);
}

int netblt_driver_own_any_port(netblt_driver *driver, struct in_addr address, uint16_t *port, netblt_failure *failure)
{
    for (unsigned i = 0; i < EPHEMERAL_TRIES; i++) {
        *port = (uint16_t)(EPHEMERAL_PORT_FIRST + netblt_random_u32() % EPHEMERAL_PORTS);
        if (!netblt_port_table_owns(&driver->ports, *port) &&
            netblt_port_table_add(&driver->ports, address, *port, false, failure) == 0)
            return 0;
    }
    return netblt_fail(failure, NETBLT_FAILURE_LOCAL,
                       "no free NETBLT port between %u and %u: too many transfers on this host", EPHEMERAL_PORT_FIRST,
                       EPHEMERAL_PORT_FIRST + EPHEMERAL_PORTS - 1);
}

/* Sends the rest of the current run. False when the link wants a pause. */
static bool send_run(netblt_driver *driver)
{
    size_t first = driver->next;
    uint64_t lost_before = driver->counts.packets_lost;
    enum netblt_sent sent =
        netblt_link_send(driver->link, &driver->run, driver->staging, &driver->next, report_lost_packet, driver);

    driver->counts.packets_sent += driver->next - first - (driver->counts.packets_lost - lost_before);
    if (sent == NETBLT_SENT_ALL)
        return true;
    driver->counts.retries++;
    if (sent == NETBLT_SENT_LATER) {
        driver->waiting_for_writable = true;
        watch_socket(driver);
    } else {
        driver->retry_at = netblt_clock_now() + CONGESTION_PAUSE_US;
    }
    return false;
}

static bool may_send(netblt_driver *driver, netblt_time now)
{
    return !driver->waiting_for_writable && now >= driver->retry_at;
}

/* Sends what may leave. True when it stopped for fairness and there may be more. */
static bool send_packets(netblt_driver *driver)
{
    for (unsigned runs = 0; runs < RUNS_PER_ROUND; runs++) {
        netblt_time now = netblt_clock_now();

        if (!may_send(driver, now))
            return false;
        if (driver->next >= driver->run.count) {
            driver->next = 0;
            driver->run.count = 0;
            if (netblt_output_burst(driver->endpoint, driver->staging, STAGING_BYTES, &driver->run, now) == 0)
                return false;
        }
        if (!send_run(driver))
            return false;
    }
    return true;
}

/* While a run waits for the link, the endpoint's wish to send more is no reason to wake up. Its timers still are, so a
 * deadline that has passed is looked at again after a short while. */
static netblt_time wake_time(netblt_driver *driver, netblt_time until)
{
    netblt_time deadline = netblt_deadline(driver->endpoint);
    netblt_time now = netblt_clock_now();

    if (driver->waiting_for_writable || driver->retry_at > now) {
        netblt_time pause_ends = driver->retry_at > now ? driver->retry_at : now + CONGESTION_PAUSE_US;

        if (deadline < pause_ends)
            deadline = pause_ends;
        if (driver->retry_at > now && driver->retry_at < deadline)
            deadline = driver->retry_at;
    }
    return deadline < until ? deadline : until;
}

void netblt_driver_wait(netblt_driver *driver, netblt_time until)
{
    netblt_loop_wait(driver->loop, driver->more_to_send ? 0 : wake_time(driver, until));
    if (driver->watching_writable != driver->waiting_for_writable)
        watch_socket(driver); /* writable again: stop asking */
}

void netblt_driver_serve(netblt_driver *driver)
{
    netblt_timeout(driver->endpoint, netblt_clock_now());
    driver->more_to_send = send_packets(driver);
}

void netblt_driver_flush(netblt_driver *driver)
{
    while (send_packets(driver))
        ;
}

netblt_driver_counts netblt_driver_get_counts(const netblt_driver *driver)
{
    return driver->counts;
}
