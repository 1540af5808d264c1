/* SPDX-License-Identifier: BSD-2-Clause */
/* Carries packets between an endpoint and its link. */
#include "io/driver.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>

#include "io/clock.h"
#include "io/entropy.h"
#include "io/port_table.h"

/* One staging buffer holds one run, and at least one packet of any size. */
#define STAGING_BYTES 65536
/* An unpaced transfer (burst interval 0) could send for ever: look for control packets after so many runs. */
#define RUNS_PER_ROUND 8
/* Single packets are mostly replies. As many must leave as arrive, or a flood of OPENs delays the RESPONSE to an honest
 * peer until its connection has been evicted. */
#define SINGLES_PER_ROUND (BATCHES_PER_ROUND * NETBLT_LINK_BATCH)
/* Likewise for what arrives: the endpoint must get to answer. */
#define BATCHES_PER_ROUND 8
/* A process that did not look at its sockets for so long was held up: stopped, swapped out, busy with its client. */
#define HELD_UP_US 2000
/* So many rounds empty a socket of 16 MB: for a process that was stopped. One that only is busy reads little more than
 * arrives: under a flood, the peers whose packets it has read wait for its replies. */
#define ROUNDS_TO_CATCH_UP 64
#define STOPPED_US 200000
#define ROUNDS_WHEN_BUSY 2
/* More packets than LOAD_PACKETS in LOAD_WINDOW_US: waking up for each of them costs both ends more than to look every
 * LOAD_PAUSE_US at what has come. That is well below any round trip that could matter at such a rate. */
#define LOAD_WINDOW_US 1000
#define LOAD_PACKETS 50
#define LOAD_PAUSE_US 100
/* A core that sleeps takes tens of microseconds to wake up for a timer, and a burst should start when it is due: the
 * last part of a wait is spent awake. Only where it follows a sleep that is ten times as long: a tenth of a core is
 * what exact starts may cost. */
#define AWAKE_US 60
#define ASLEEP_LEAST_US (10 * AWAKE_US)
/* An interface whose queue is full drains some packets in this time, even at 10 Mb/s. */
#define CONGESTION_PAUSE_US 1000

/* All but those below 1024, where listeners are: NETBLT's ports are no one else's, and an attacker has to guess ours.
 */
#define EPHEMERAL_PORT_FIRST 1024u
#define EPHEMERAL_PORTS 64512u
/* With half of all ephemeral ports taken, one in a million searches fails after so many tries. */
#define EPHEMERAL_TRIES 20

/* What the loop calls back with: one socket of the link. */
struct watched_socket {
    netblt_driver *driver;
    unsigned number;
    uint32_t events; /* what is registered with the loop; 0 = nothing */
};

struct netblt_driver {
    netblt_loop *loop;
    netblt_link *link;
    netblt_endpoint *endpoint;
    netblt_network_error_fn *report;
    void *report_context;
    netblt_port_table ports;
    netblt_driver_counts counts;
    netblt_tap_fn *tap; /* may be NULL */
    void *tap_context;

    /* A run that the socket did not take whole: nothing else may leave before its rest. */
    uint8_t *staging;
    size_t staging_bytes; /* what one run may have */
    netblt_output run;
    size_t next;               /* first packet of `run` not yet sent; run.count = none left */
    bool waiting_for_writable; /* the socket that `run` leaves by */
    netblt_time retry_at;      /* congested until then */
    bool more_to_send;         /* sending stopped for fairness only */
    struct watched_socket sockets[NETBLT_LINK_SOCKETS];

    netblt_time looked_at; /* when the sockets were last read */
    bool unread;           /* fairness left some in them */
    netblt_time known_at;  /* the endpoint knows this time: what arrives is not earlier to it */

    /* How much arrives, see LOAD_PACKETS. */
    netblt_time load_from; /* beginning of the window that is being counted */
    uint64_t load_packets; /* in it */
    bool loaded;           /* the window before was */
};

static bool is_unreachable(int error)
{
    return error == ECONNREFUSED || error == EHOSTUNREACH || error == ENETUNREACH || error == ENOPROTOOPT ||
           error == EACCES;
}

/* ICMP errors come to every raw socket: only those for our own ports are ours. */
static void report_if_ours(void *context, const netblt_network_error *error)
{
    netblt_driver *driver = context;
    bool ours = error->local_port == 0 ? driver->ports.encap == NETBLT_ENCAP_UDP
                                       : netblt_port_table_owns(&driver->ports, error->local_port);
    if (ours && is_unreachable(error->error))
        netblt_unreachable(driver->endpoint, &error->foreign, error->local_port, netblt_clock_now());
    if (ours && driver->report != NULL)
        driver->report(driver->report_context, error);
}

static void report_lost_packet(void *context, const netblt_network_error *error)
{
    netblt_driver *driver = context;
    driver->counts.packets_lost++;
    report_if_ours(driver, error);
}

static void tap(const netblt_driver *driver, bool sent, const netblt_path *path, const uint8_t *packets, size_t length,
                size_t segment_bytes, netblt_time at)
{
    const netblt_passing passing = {sent, path, packets, length, segment_bytes, at};
    if (driver->tap != NULL && length > 0)
        driver->tap(driver->tap_context, &passing);
}

/* A run may mix ports, which only its first packets have in common with those that follow. */
static size_t same_port_bytes(const netblt_arrival *arrival, size_t from)
{
    const uint8_t *first = arrival->packets + from;
    size_t at = from + arrival->segment_bytes;
    while (at < arrival->length && arrival->length - at >= NETBLT_HEADER_BYTES &&
           netblt_port_table_same_kind(first, arrival->packets + at))
        at += arrival->segment_bytes;
    return (at < arrival->length ? at : arrival->length) - from;
}

/* A process that wakes up late finds many packets in its sockets: the endpoint measures when they arrived, not when
 * they were read. What the kernel noted may be nonsense where the wall clock was set meanwhile. */
netblt_time netblt_driver_arrived_at(netblt_time noted, netblt_time known, netblt_time now)
{
    netblt_time at = noted != 0 && noted < now ? noted : now;
    return at > known ? at : known;
}

static void take_in(netblt_driver *driver, const netblt_arrival *arrival, netblt_time now)
{
    size_t length;
    netblt_time at = netblt_driver_arrived_at(arrival->at, driver->known_at, now);
    driver->known_at = at;
    for (size_t from = 0; from < arrival->length; from += length) {
        const uint8_t *packets = arrival->packets + from;
        if (arrival->length - from < NETBLT_HEADER_BYTES)
            return;
        length = same_port_bytes(arrival, from);
        if (!netblt_port_table_admits(&driver->ports, &arrival->path, packets, length, now))
            continue;
        tap(driver, false, &arrival->path, packets, length, arrival->segment_bytes, at);
        (void)netblt_input(driver->endpoint, &arrival->path, packets, length, arrival->segment_bytes,
                           at); /* packets that cannot be used are counted there */
    }
}

static uint64_t packets_of(const netblt_arrival *arrival)
{
    return (arrival->length + arrival->segment_bytes - 1) / arrival->segment_bytes;
}

static void read_packets(netblt_driver *driver, unsigned number)
{
    netblt_arrival arrivals[NETBLT_LINK_BATCH];
    bool more = true;
    for (unsigned batch = 0; more && batch < BATCHES_PER_ROUND; batch++) {
        unsigned count = netblt_link_receive(driver->link, number, arrivals, &more);
        netblt_time now = netblt_clock_now();
        for (unsigned i = 0; i < count; i++) {
            driver->load_packets += packets_of(&arrivals[i]);
            take_in(driver, &arrivals[i], now);
        }
    }
    driver->unread |= more;
}

static void read_all_sockets(netblt_driver *driver)
{
    for (unsigned i = 0; i < NETBLT_LINK_SOCKETS; i++)
        if (netblt_link_fd(driver->link, i) >= 0)
            read_packets(driver, i);
}

/* Who was held up finds timers expired and, still in the sockets, the packets that would have stopped them. Those
 * first: else we would ask again for data that are here, or forget a connection whose peer still waits for its ack. */
static void catch_up(netblt_driver *driver)
{
    netblt_time now = netblt_clock_now();
    if (netblt_deadline(driver->endpoint) > now || (now - driver->looked_at <= HELD_UP_US && !driver->unread))
        return;
    unsigned most = now - driver->looked_at > STOPPED_US ? ROUNDS_TO_CATCH_UP : ROUNDS_WHEN_BUSY;
    for (unsigned rounds = 0; rounds < most; rounds++) {
        driver->unread = false;
        read_all_sockets(driver);
        if (!driver->unread)
            break;
    }
    driver->looked_at = netblt_clock_now();
}

static void measure_load(netblt_driver *driver, netblt_time now)
{
    if (now - driver->load_from < LOAD_WINDOW_US)
        return;
    /* By rate, however long it was: a process that had to wait for its core must not go back to being woken. */
    driver->loaded = driver->load_packets * LOAD_WINDOW_US > LOAD_PACKETS * (now - driver->load_from);
    driver->load_packets = 0;
    driver->load_from = now;
    for (unsigned i = 0; driver->loaded && i < NETBLT_LINK_SOCKETS; i++) /* the loop would not report them now */
        if (netblt_link_fd(driver->link, i) >= 0)
            netblt_link_read_errors(driver->link, i, report_if_ours, driver);
}

static void socket_ready(void *context, uint32_t events)
{
    struct watched_socket *at = context;
    netblt_driver *driver = at->driver;
    if ((events & EPOLLOUT) != 0 && (at->events & EPOLLOUT) != 0)
        driver->waiting_for_writable = false;
    if ((events & EPOLLIN) != 0)
        read_packets(driver, at->number);
    if ((events & EPOLLERR) != 0) /* after the packets: a peer's last packet explains why it has ended */
        netblt_link_read_errors(driver->link, at->number, report_if_ours, driver);
}

/* Writability is of interest exactly while a run waits for it. Arrivals are not under load: even a wake-up without
 * effect costs each packet a walk through the waiters' lists. */
static uint32_t wanted_events(const netblt_driver *driver, unsigned number)
{
    bool for_writing = driver->waiting_for_writable && number == netblt_link_socket_for(&driver->run.path.foreign);
    return (driver->loaded ? 0 : (uint32_t)EPOLLIN) | (for_writing ? (uint32_t)EPOLLOUT : 0);
}

/* Registers with the loop what is wanted now. 0 or -errno. */
static int follow_sockets(netblt_driver *driver)
{
    for (unsigned i = 0; i < NETBLT_LINK_SOCKETS; i++) {
        struct watched_socket *at = &driver->sockets[i];
        int fd = netblt_link_fd(driver->link, i);
        uint32_t events = wanted_events(driver, i);
        int error = 0;
        if (fd < 0 || events == at->events)
            continue;
        if (events == 0)
            netblt_loop_unwatch(driver->loop, fd);
        else
            error = netblt_loop_watch(driver->loop, fd, events, socket_ready, at);
        if (error != 0)
            return error;
        at->events = events;
    }
    return 0;
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
                              .staging = staging,
                              .staging_bytes = netblt_link_encap(link) == NETBLT_ENCAP_UDP ? NETBLT_LINK_RUN_MAX_BYTES
                                                                                           : STAGING_BYTES};
    netblt_port_table_init(&driver->ports, netblt_link_encap(link));
    netblt_clock_make_precise();
    for (unsigned i = 0; i < NETBLT_LINK_SOCKETS; i++)
        driver->sockets[i] = (struct watched_socket){.driver = driver, .number = i};
    if (follow_sockets(driver) != 0) {
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
    for (unsigned i = 0; i < NETBLT_LINK_SOCKETS; i++)
        netblt_loop_unwatch(driver->loop, netblt_link_fd(driver->link, i));
    netblt_port_table_free(&driver->ports);
    free(driver->staging);
    free(driver);
}

/* The kernel's filter follows the table; without memory for the list it stays as it was, and keeps too much away. */
static int follow_ports(netblt_driver *driver, netblt_failure *failure)
{
    const netblt_port_table *table = &driver->ports;
    uint16_t *ports = malloc((table->count + 1) * sizeof *ports); /* never an empty block, which may be NULL */
    if (ports == NULL)
        return netblt_fail(failure, NETBLT_FAILURE_LOCAL, "not enough memory for another port");
    for (size_t i = 0; i < table->count; i++)
        ports[i] = table->ports[i].port;
    netblt_link_admit_only(driver->link, ports, table->count, table->has_passive);
    free(ports);
    return 0;
}

/* A port whose packets the filter keeps away is of no use: it is given back. */
static int follow_new_port(netblt_driver *driver, netblt_failure *failure)
{
    if (follow_ports(driver, failure) == 0)
        return 0;
    netblt_port_table_undo_add(&driver->ports);
    return -1;
}

int netblt_driver_own_port(netblt_driver *driver, const netblt_address *address, uint16_t port, bool passive,
                           netblt_failure *failure)
{
    if (netblt_port_table_add(&driver->ports, address, port, passive, failure) != 0)
        return -1;
    return follow_new_port(driver, failure);
}

int netblt_driver_own_any_port(netblt_driver *driver, const netblt_address *address, uint16_t *port,
                               netblt_failure *failure)
{
    for (unsigned i = 0; i < EPHEMERAL_TRIES; i++) {
        *port = (uint16_t)(EPHEMERAL_PORT_FIRST + netblt_random_u32() % EPHEMERAL_PORTS);
        if (!netblt_port_table_owns(&driver->ports, *port) &&
            netblt_port_table_add(&driver->ports, address, *port, false, failure) == 0)
            return follow_new_port(driver, failure);
    }
    return netblt_fail(failure, NETBLT_FAILURE_LOCAL,
                       "no free NETBLT port between %u and %u: too many transfers on this host", EPHEMERAL_PORT_FIRST,
                       EPHEMERAL_PORT_FIRST + EPHEMERAL_PORTS - 1);
}

void netblt_driver_disown_port(netblt_driver *driver, uint16_t port)
{
    netblt_failure ignored; /* a filter that admits too much does no harm: netblt_port_table_admits() decides */
    netblt_port_table_remove(&driver->ports, port);
    (void)follow_ports(driver, &ignored);
}

/* Packets from number `first` on that the link has taken, as one run; it got them at `at`. */
static void tap_sent(const netblt_driver *driver, size_t first, netblt_time at)
{
    size_t from = first * driver->run.segment_bytes;
    size_t to = driver->next < driver->run.count ? driver->next * driver->run.segment_bytes : driver->run.length;
    if (driver->tap != NULL)
        tap(driver, true, &driver->run.path, driver->staging + from, to - from, driver->run.segment_bytes, at);
}

/* Sends the rest of the current run. False when the link wants a pause. */
static bool send_run(netblt_driver *driver)
{
    size_t first = driver->next;
    uint64_t lost_before = driver->counts.packets_lost;
    netblt_time at = driver->tap != NULL ? netblt_clock_now() : 0;
    enum netblt_sent sent =
        netblt_link_send(driver->link, &driver->run, driver->staging, &driver->next, report_lost_packet, driver);
    tap_sent(driver, first, at);
    driver->counts.packets_sent += driver->next - first - (driver->counts.packets_lost - lost_before);
    if (sent == NETBLT_SENT_ALL)
        return true;
    driver->counts.retries++;
    if (sent == NETBLT_SENT_LATER) {
        driver->waiting_for_writable = true;
        follow_sockets(driver);
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
    unsigned runs = 0;
    unsigned singles = 0;
    while (runs < RUNS_PER_ROUND && singles < SINGLES_PER_ROUND) {
        netblt_time now = netblt_clock_now();
        if (!may_send(driver, now))
            return false;
        if (driver->next >= driver->run.count) {
            driver->next = 0;
            driver->run.count = 0;
            if (netblt_output_burst(driver->endpoint, driver->staging, driver->staging_bytes, &driver->run, now) == 0)
                return false;
        }
        if (driver->run.count > 1)
            runs++;
        else
            singles++;
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

/* Under load: lets packets gather, then takes them without being asked. */
static void wait_under_load(netblt_driver *driver, netblt_time wake_at)
{
    netblt_time now = netblt_clock_now();
    netblt_time until = now + LOAD_PAUSE_US;
    if (wake_at > now)
        netblt_clock_sleep_until(until < wake_at ? until : wake_at);
    read_all_sockets(driver);
}

netblt_time netblt_driver_asleep_until(netblt_time begun, netblt_time wake_at, netblt_time until)
{
    bool exact = wake_at < until && wake_at > begun + AWAKE_US + ASLEEP_LEAST_US;
    return exact ? wake_at - AWAKE_US : wake_at;
}

static void wait_in_loop(netblt_driver *driver, netblt_time begun, netblt_time wake_at, netblt_time until)
{
    uint64_t arrived = driver->load_packets;
    netblt_time asleep_until = netblt_driver_asleep_until(begun, wake_at, until);
    netblt_loop_wait(driver->loop, asleep_until);
    if (asleep_until == wake_at || driver->load_packets != arrived || netblt_clock_now() < asleep_until)
        return;
    while (netblt_clock_now() < wake_at)
        ;
}

bool netblt_driver_was_held_up(netblt_time begun, netblt_time wake_at, netblt_time now)
{
    netblt_time latest = wake_at > begun ? wake_at : begun;
    return now > latest && now - latest > HELD_UP_US;
}

void netblt_driver_wait(netblt_driver *driver, netblt_time until)
{
    netblt_time wake_at = driver->more_to_send ? 0 : wake_time(driver, until);
    netblt_time begun = netblt_clock_now();
    driver->known_at = begun;
    measure_load(driver, begun);
    follow_sockets(driver);
    driver->unread = false;
    if (driver->loaded) {
        wait_under_load(driver, wake_at);
        netblt_loop_wait(driver->loop, 0);
    } else {
        wait_in_loop(driver, begun, wake_at, until);
    }
    driver->looked_at = netblt_clock_now();
    if (netblt_driver_was_held_up(begun, wake_at, driver->looked_at))
        driver->unread = true;
    follow_sockets(driver);
}

void netblt_driver_serve(netblt_driver *driver)
{
    driver->known_at = netblt_clock_now();
    catch_up(driver);
    netblt_timeout(driver->endpoint, netblt_clock_now());
    driver->more_to_send = send_packets(driver);
}

void netblt_driver_flush(netblt_driver *driver)
{
    while (send_packets(driver))
        ;
}

void netblt_driver_set_tap(netblt_driver *driver, netblt_tap_fn *tap_fn, void *context)
{
    driver->tap = tap_fn;
    driver->tap_context = context;
}

netblt_driver_counts netblt_driver_get_counts(const netblt_driver *driver)
{
    return driver->counts;
}
