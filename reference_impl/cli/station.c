/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/station.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/report.h"
#include "cli/signals.h"
#include "io/clock.h"
#include "io/entropy.h"
#include "io/privileges.h"
#include "io/resolve.h"

/* A hostile peer can make the core say something for every packet. */
#define LOG_LINES_MAX 20

static void log_line(void *context, const char *line)
{
    station *net = context;

    if (net->log_lines++ < LOG_LINES_MAX)
        report_note("%s", line);
}

/* ---- who looks on --------------------------------------------------------------------------------------------- */

static void pass_event(void *context, const netblt_event *event)
{
    station *net = context;

    if (net->log != NULL)
        qlog_event(net->log, event);
    if (net->events.event != NULL)
        net->events.event(net->events.context, event);
}

static void pass_packets(void *context, const netblt_passing *passing)
{
    station *net = context;

    if (net->pcap != NULL)
        capture_write(net->pcap, passing);
    if (net->events.packets != NULL)
        net->events.packets(net->events.context, passing);
}

static void pass_network_error(void *context, const netblt_network_error *error)
{
    station *net = context;

    net->network_errors++;
    if (net->events.network_error != NULL)
        net->events.network_error(net->events.context, error);
}

static bool is_same_file(const char *a, const char *b)
{
    struct stat one;
    struct stat other;

    if (a == NULL || b == NULL)
        return false;
    if (stat(a, &one) == 0 && stat(b, &other) == 0)
        return S_ISREG(one.st_mode) && one.st_dev == other.st_dev && one.st_ino == other.st_ino;
    return strcmp(a, b) == 0 && strcmp(a, "-") != 0;
}

/* Opening a record empties it, so this is asked before anything is opened: whoever mixes up the names must not lose the
 * file that he wants to send. */
static int check_records(const options *given, netblt_failure *failure)
{
    const char *names[] = {given->file, given->pcap_file, given->qlog_file};
    static const char *const what[] = {"FILE", "--pcap", "--qlog"};

    for (unsigned i = 0; i < 3; i++)
        for (unsigned j = i + 1; j < 3; j++)
            if (is_same_file(names[i], names[j]))
                return netblt_fail(failure, NETBLT_FAILURE_LOCAL, "%s and %s are the same file, %s: choose another",
                                   what[i], what[j], names[j]);
    return 0;
}

static int open_records(station *net, netblt_failure *failure)
{
    if (net->given->pcap_file != NULL) {
        net->pcap = capture_open(net->given->pcap_file, failure);
        if (net->pcap == NULL)
            return -1;
    }
    if (net->given->qlog_file != NULL) {
        net->log = qlog_open(net->given->qlog_file, net->given, failure);
        if (net->log == NULL)
            return -1;
    }
    return 0;
}

static void close_records(station *net)
{
    netblt_failure failure;

    if (capture_close(net->pcap, &failure) != 0)
        report_error("%s", failure.text);
    if (qlog_close(net->log, &failure) != 0)
        report_error("%s", failure.text);
}

/* ---- signals -------------------------------------------------------------------------------------------------- */

static void signal_ready(void *context, uint32_t events)
{
    station *net = context;

    (void)events;
    for (unsigned left = signals_take(net->signal_fd); left > 0; left--) {
        net->signals++;
        if (net->events.interrupted != NULL)
            net->events.interrupted(net->events.context, net->signals);
    }
}

int station_watch_signals(station *net, netblt_failure *failure)
{
    int error = 0;

    net->signal_fd = signals_open();
    if (net->signal_fd < 0)
        error = -errno;
    else
        error = netblt_loop_watch(net->loop, net->signal_fd, EPOLLIN, signal_ready, net);
    if (error != 0)
        return netblt_fail(failure, NETBLT_FAILURE_LOCAL, "cannot wait for signals: %s", strerror(-error));
    return 0;
}

/* ---- threads --------------------------------------------------------------------------------------------------- */

/* The round goes on to its other half, where everything that may have news is looked at. */
static void clear_wake(void *context, uint32_t events)
{
    station *net = context;
    uint64_t count;

    (void)events;
    if (read(net->wake_fd, &count, sizeof count) < 0)
        return; /* called without cause */
}

static int make_wake(station *net, netblt_failure *failure)
{
    int error = 0;

    net->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (net->wake_fd < 0)
        error = -errno;
    else
        error = netblt_loop_watch(net->loop, net->wake_fd, EPOLLIN, clear_wake, net);
    if (error != 0)
        return netblt_fail(failure, NETBLT_FAILURE_LOCAL, "cannot wait for events: %s", strerror(-error));
    return 0;
}

/* ---- setting up ----------------------------------------------------------------------------------------------- */

/* With the sockets go those privileges that only they need. Whose user is to change has the sockets change it too. */
static int reduce_privileges(station *net, netblt_failure *failure)
{
    netblt_user user;
    int result;

    if (net->given->user == NULL)
        return netblt_privileges_reduce(NULL, failure);
    if (netblt_user_find(net->given->user, &user, failure) != 0)
        return -1;
    result = getuid() == 0 && geteuid() == 0 ? netblt_link_give_to(net->link, user.uid, user.gid, failure) : 0;
    if (result == 0)
        result = netblt_privileges_reduce(&user, failure);
    netblt_user_free(&user);
    return result;
}

/* Sockets come first, and a passive end's address with them: a UDP port below 1024 takes privileges. */
static int open_sockets(station *net, netblt_failure *failure)
{
    const options *given = net->given;

    net->link = netblt_link_open(given->encap, given->family, failure);
    if (net->link == NULL ||
        (given->transmit == TRANSMIT_AF_PACKET && netblt_link_transmit_by_packet_socket(net->link, failure) != 0))
        return -1;
    return given->passive ? netblt_link_bind(net->link, &given->bind_address, (uint16_t)given->udp_port.value, failure)
                          : 0;
}

int station_open(station *net, const options *given, netblt_failure *failure)
{
    *net = (station){.given = given, .signal_fd = -1, .wake_fd = -1};
    if (open_sockets(net, failure) != 0 || reduce_privileges(net, failure) != 0 || check_records(given, failure) != 0)
        return -1;
    if (given->transmit == TRANSMIT_SINGLE)
        netblt_link_transmit_singly(net->link);
    net->loop = netblt_loop_new();
    if (net->loop == NULL)
        return netblt_fail(failure, NETBLT_FAILURE_LOCAL, "cannot wait for events: %s", strerror(errno));
    return make_wake(net, failure);
}

int station_find_peer(station *net, netblt_failure *failure)
{
    if (net->given->passive)
        return 0;
    if (netblt_resolve(net->given->host, net->given->family, &net->peer, failure) != 0)
        return -1;
    return netblt_route_lookup(&net->peer, &net->given->bind_address, &net->route, failure);
}

static int make_endpoint(station *net, netblt_failure *failure)
{
    const options *given = net->given;
    netblt_config config;

    netblt_config_default(&config);
    if (given->version_byte.given) {
        config.version = (uint8_t)given->version_byte.value;
        if (config.version < 64) /* who speaks it must also understand it */
            config.refused_versions &= ~(UINT64_C(1) << config.version);
    }
    if (!netblt_random_secret(config.secret))
        return netblt_fail(failure, NETBLT_FAILURE_LOCAL, "the kernel has no random bytes");
    config.profile = given->profile;
    config.log = log_line;
    config.log_context = net;
    if (net->log != NULL || net->events.event != NULL) {
        config.event = pass_event;
        config.event_context = net;
    }
    net->endpoint = netblt_endpoint_new(&config);
    if (net->endpoint == NULL)
        return netblt_fail(failure, NETBLT_FAILURE_LOCAL, "not enough memory");
    return 0;
}

int station_start(station *net, const station_events *events, netblt_failure *failure)
{
    net->events = *events;
    if (open_records(net, failure) != 0 ||
        (!net->given->passive && netblt_link_bind(net->link, &net->route.source, 0, failure) != 0) ||
        make_endpoint(net, failure) != 0)
        return -1;
    net->driver = netblt_driver_new(net->loop, net->link, net->endpoint, pass_network_error, net, failure);
    if (net->driver == NULL)
        return -1;
    if (net->pcap != NULL || net->events.packets != NULL)
        netblt_driver_set_tap(net->driver, pass_packets, net);
    return 0;
}

void station_close(station *net)
{
    netblt_driver_free(net->driver);
    netblt_endpoint_free(net->endpoint);
    netblt_link_close(net->link);
    netblt_loop_free(net->loop);
    if (net->signal_fd >= 0)
        close(net->signal_fd);
    if (net->wake_fd >= 0)
        close(net->wake_fd);
    close_records(net);
}

/* ---- connections ---------------------------------------------------------------------------------------------- */

netblt_options station_connection_options(const station *net, bool any_order)
{
    return (netblt_options){
        .any_order = any_order,
        .rate = net->given->rate,
        .beyond_4g = net->given->beyond_4g,
        .open_timeout_us = net->given->open_timeout_s.value * 1000000,
    };
}

int station_connect(station *net, const station_call *call, netblt_connection **connection, netblt_failure *failure)
{
    const options *given = net->given;
    netblt_options how = station_connection_options(net, call->any_order);
    uint16_t foreign_port = call->foreign_port != 0 ? call->foreign_port : (uint16_t)given->port.value;
    netblt_path path = {
        .local = netblt_link_local(net->link, &net->route.source),
        .foreign = netblt_address_with_port(&net->peer,
                                            given->encap == NETBLT_ENCAP_UDP ? (uint16_t)given->udp_port.value : 0),
    };
    uint16_t local_port;
    int error;

    if (netblt_driver_own_any_port(net->driver, &net->route.source, &local_port, failure) != 0)
        return -1;
    how.confirm_end = call->confirm_end;
    how.ends_in_hash = call->ends_in_hash;
    if (call->open_timeout_us != 0)
        how.open_timeout_us = call->open_timeout_us;
    error = netblt_open(net->endpoint, &path, local_port, foreign_port, call->role, call->params, netblt_random_u32(),
                        call->client, call->context, &how, netblt_clock_now(), connection);
    if (error != 0)
        return netblt_fail(failure, NETBLT_FAILURE_LOCAL, "cannot open the transfer: %s", netblt_strerror(error));
    return 0;
}

int station_listen(station *net, const char *whom, netblt_accept_fn *accept, void *context, netblt_failure *failure)
{
    uint16_t port = (uint16_t)net->given->port.value;
    int error;

    if (netblt_driver_own_port(net->driver, &net->given->bind_address, port, true, failure) != 0)
        return -1;
    error = netblt_listen(net->endpoint, port, accept, context);
    if (error != 0)
        return netblt_fail(failure, NETBLT_FAILURE_LOCAL, "cannot wait on port %u: %s", port, netblt_strerror(error));
    if (net->given->encap == NETBLT_ENCAP_UDP)
        report_note("waiting for %s on port %u, UDP port %u", whom, port, (unsigned)net->given->udp_port.value);
    else
        report_note("waiting for %s on port %u", whom, port);
    return 0;
}

void station_round(station *net, netblt_time until, void (*tend)(void *context), void *context)
{
    netblt_driver_wait(net->driver, until);
    tend(context);
    netblt_driver_serve(net->driver);
    tend(context);
}

/* ---- addresses ------------------------------------------------------------------------------------------------ */

/* The route back decides how large a packet may be; without one, Ethernet's size is the best guess. */
#define MTU_GUESS_BYTES 1500

uint32_t station_mtu_towards(const netblt_path *path)
{
    netblt_failure ignored;
    netblt_route route;

    if (netblt_route_lookup(&path->foreign, &path->local, &route, &ignored) != 0)
        return MTU_GUESS_BYTES;
    return route.mtu;
}

size_t station_overhead_bytes(const options *given, const netblt_address *foreign)
{
    (void)foreign;
    return netblt_encap_overhead_bytes(given->encap, netblt_address_family(foreign));
}

size_t station_overhead_to_peer(const station *net)
{
    return netblt_encap_overhead_bytes(net->given->encap, netblt_address_family(&net->peer));
}
