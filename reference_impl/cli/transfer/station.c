/* SPDX-License-Identifier: BSD-2-Clause */
/* Socket, endpoint, signals and records that all transfers of a command share: see station.h. */
#include "cli/transfer/station.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/process/sandbox.h"
#include "cli/report/report.h"
#include "cli/store/digest.h"
#include "io/clock.h"
#include "io/entropy.h"
#include "io/privileges.h"
#include "io/resolve.h"

/* A hostile peer can make the core print a line for every packet. */
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
    qlog_event(((station *)context)->log, event);
}

static void pass_packets(void *context, const netblt_passing *passing)
{
    station *net = context;
    if (net->pcap != NULL)
        capture_write(net->pcap, passing);
    if (net->plan.packets != NULL)
        net->plan.packets(net->plan.context, passing);
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

/* Opening a record empties it, so this is checked before anything is opened: a user who mixes up the names must not
 * lose the file to be sent. */
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
    const options *given = net->given;
    if (given->pcap_file != NULL)
        net->pcap = capture_open(given->pcap_file, failure);
    if (given->pcap_file != NULL && net->pcap == NULL)
        return -1;
    if (given->qlog_file != NULL)
        net->log = qlog_open(given->qlog_file, given, failure);
    return given->qlog_file != NULL && net->log == NULL ? -1 : 0;
}

static void close_records(station *net)
{
    netblt_failure failure;
    if (capture_close(net->pcap, &failure) != 0)
        report_error("%s", failure.text);
    if (qlog_close(net->log, &failure) != 0)
        report_error("%s", failure.text);
}

/* ---- errors from the network ------------------------------------------------------------------------------------- */

/* Two OPENs that came back are no accident; one may be, for instance when both ends are started at the same time. */
#define OPEN_ERRORS_MAX 2

static void fail_to_open(station *net, int error)
{
    const char *host = net->given->host;
    netblt_failure *failure = net->plan.failure;
    if (failure->kind != NETBLT_FAILURE_NONE)
        return;
    if (error == ECONNREFUSED)
        netblt_fail(failure, NETBLT_FAILURE_UNREACHABLE,
                    "nothing answers on UDP port %u of %s: start netblt there with --passive --encap udp",
                    (unsigned)net->given->udp_port.value, host);
    else if (error == ENOPROTOOPT)
        netblt_fail(failure, NETBLT_FAILURE_UNREACHABLE,
                    "%s does not take IP protocol 30: start netblt there with --passive, or use --encap udp at both "
                    "ends",
                    host);
    else if (error == EPERM || error == EACCES)
        netblt_fail(failure, NETBLT_FAILURE_UNREACHABLE,
                    "packets to %s may not leave this host: a firewall here forbids them", host);
    else
        netblt_fail(failure, NETBLT_FAILURE_UNREACHABLE,
                    "%s is unreachable: %s; check the address, the cable and the routes", host, strerror(error));
    net->interrupts.leave = true;
}

/* An established transfer outlives errors of the network, as long as the peer itself sends packets (TIMER-10).
 */
static void note_error(station *net, const netblt_network_error *error)
{
    char peer[NETBLT_ADDRESS_TEXT_BYTES];
    if (error->error == net->reported_error)
        return;
    net->reported_error = error->error;
    netblt_address_text(&error->foreign, peer);
    if (error->error == EMSGSIZE)
        report_note("the path to %s carries only smaller packets: continuing in fragments; use a smaller --packet-size",
                    peer);
    else
        report_note("the network reports for %s: %s; continuing, in case it is temporary", peer,
                    strerror(error->error));
}

static void take_network_error(void *context, const netblt_network_error *error)
{
    station *net = context;
    enum station_stage stage = net->plan.stage == NULL ? STAGE_OTHER : net->plan.stage(net->plan.context);
    net->network_errors++;
    if (stage == STAGE_OPEN)
        note_error(net, error);
    else if (stage == STAGE_OPENING && error->error != EMSGSIZE && ++net->open_errors >= OPEN_ERRORS_MAX)
        fail_to_open(net, error->error);
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

static int open_link_and_loop(station *net, netblt_failure *failure)
{
    if (open_sockets(net, failure) != 0 || reduce_privileges(net, failure) != 0 ||
        check_records(net->given, failure) != 0)
        return -1;
    if (net->given->transmit == TRANSMIT_SINGLE)
        netblt_link_transmit_singly(net->link);
    net->loop = netblt_loop_new();
    if (net->loop == NULL)
        return netblt_fail(failure, NETBLT_FAILURE_LOCAL, "cannot wait for events: %s", strerror(errno));
    return make_wake(net, failure);
}

static int find_way(station *net, netblt_failure *failure)
{
    if (netblt_resolve(net->given->host, net->given->family, &net->peer, failure) != 0)
        return -1;
    return netblt_route_lookup(&net->peer, &net->given->bind_address, &net->route, failure);
}

/* What a host that is just starting, or a link that is down, lacks. */
static bool may_pass(const netblt_failure *failure)
{
    return failure->kind == NETBLT_FAILURE_UNREACHABLE || failure->kind == NETBLT_FAILURE_NAMES;
}

static int find_peer(station *net, netblt_failure *failure)
{
    if (net->given->passive)
        return 0;
    while (find_way(net, failure) != 0)
        if (!may_pass(failure) || net->plan.wait_for_way == NULL || !net->plan.wait_for_way(net->plan.context, failure))
            return -1;
    *failure = (netblt_failure){0};
    return 0;
}

/* The address that all packets of an active end go to. */
static netblt_address peer_address(const station *net)
{
    uint16_t udp_port = net->given->encap == NETBLT_ENCAP_UDP ? (uint16_t)net->given->udp_port.value : 0;
    return netblt_address_with_port(&net->peer, udp_port);
}

static int bind_to_peer(station *net, netblt_failure *failure)
{
    netblt_address peer = peer_address(net);
    if (netblt_link_bind(net->link, &net->route.source, 0, failure) != 0)
        return -1;
    netblt_link_connect(net->link, &peer);
    return 0;
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
    if (net->log != NULL) {
        config.event = pass_event;
        config.event_context = net;
    }
    net->endpoint = netblt_endpoint_new(&config);
    if (net->endpoint == NULL)
        return netblt_fail(failure, NETBLT_FAILURE_LOCAL, "not enough memory");
    return 0;
}

static int open_endpoint(station *net, netblt_failure *failure)
{
    if (open_records(net, failure) != 0 || (!net->given->passive && bind_to_peer(net, failure) != 0) ||
        make_endpoint(net, failure) != 0)
        return -1;
    net->driver = netblt_driver_new(net->loop, net->link, net->endpoint, take_network_error, net, failure);
    if (net->driver == NULL)
        return -1;
    if (net->pcap != NULL || net->plan.packets != NULL)
        netblt_driver_set_tap(net->driver, pass_packets, net);
    return 0;
}

int station_open(station *net, const options *given, const station_plan *plan)
{
    netblt_failure *failure = plan->failure;
    netblt_failure ignored;
    *net = (station){
        .given = given,
        .plan = *plan,
        .interrupts = {.ask = plan->interrupted, .context = plan->context, .peers = plan->peers, .fd = -1},
        .wake_fd = -1,
    };
    if (open_link_and_loop(net, failure) != 0 || find_peer(net, failure) != 0 ||
        (plan->open_files != NULL && plan->open_files(plan->context) != 0) ||
        signals_watch(&net->interrupts, net->loop, failure) != 0 || open_endpoint(net, failure) != 0)
        return -1;
    digest_free(digest_new(&ignored)); /* libcrypto reads its configuration when it is first used */
    return confine(given, &net->reached, failure);
}

void station_close(station *net)
{
    netblt_driver_free(net->driver);
    netblt_endpoint_free(net->endpoint);
    netblt_link_close(net->link);
    netblt_loop_free(net->loop);
    signals_close(&net->interrupts);
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

int station_connect(station *net, netblt_open_args *args, netblt_connection **connection)
{
    const options *given = net->given;
    netblt_path path = {
        .local = netblt_link_local(net->link, &net->route.source),
        .foreign = peer_address(net),
    };
    netblt_failure *failure = net->plan.failure;
    int error;
    if (netblt_driver_own_any_port(net->driver, &net->route.source, &args->local_port, failure) != 0)
        return -1;
    args->size = sizeof *args;
    args->path = &path;
    args->unique_id = netblt_random_u32();
    if (args->foreign_port == 0)
        args->foreign_port = (uint16_t)given->port.value;
    error = netblt_open(net->endpoint, args, netblt_clock_now(), connection);
    if (error != 0)
        return netblt_fail(failure, NETBLT_FAILURE_LOCAL, "cannot open the transfer: %s", netblt_strerror(error));
    return 0;
}

int station_listen(station *net, const char *whom, netblt_accept_fn *accept, void *context)
{
    netblt_failure *failure = net->plan.failure;
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

void station_round(station *net, netblt_time until)
{
    netblt_driver_wait(net->driver, until);
    net->plan.tend(net->plan.context);
    netblt_driver_serve(net->driver);
    net->plan.tend(net->plan.context);
}

void station_run(station *net)
{
    netblt_time until;
    while (!net->interrupts.leave && (until = net->plan.next(net->plan.context)) != STATION_OVER)
        station_round(net, until);
    netblt_driver_flush(net->driver);
}
