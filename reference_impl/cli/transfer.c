/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/transfer.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "cli/parameters.h"
#include "io/clock.h"
#include "io/entropy.h"
#include "io/privileges.h"

/* ---- setting up ----------------------------------------------------------------------------------------------- */

/* Privileges are for the raw socket only: it comes first, and they are gone before any file is touched. */
static int open_link(transfer *work)
{
    work->link = netblt_link_open(work->given->encap, &work->failure);
    return work->link == NULL ? -1 : netblt_privileges_drop(&work->failure);
}

static int open_file(transfer *work)
{
    if (work->given->role == NETBLT_SENDER)
        work->from = source_open(work->given->file, &work->failure);
    else
        work->to = sink_open(work->given->file, &work->failure);
    return work->from == NULL && work->to == NULL ? -1 : 0;
}

static int find_peer(transfer *work)
{
    if (work->given->passive)
        return 0;
    if (netblt_ipv4_resolve(work->given->host, &work->peer, &work->failure) != 0)
        return -1;
    return netblt_route_lookup(work->peer, work->given->bind_address, &work->route, &work->failure);
}

static int bind_link(transfer *work)
{
    struct in_addr address = work->given->passive ? work->given->bind_address : work->route.source;
    uint16_t udp_port = work->given->passive ? options_udp_port(work->given) : 0;

    return netblt_link_bind(work->link, address, udp_port, &work->failure);
}

/* A hostile peer can make the core say something for every packet. */
#define LOG_LINES_MAX 20

static void log_line(void *context, const char *line)
{
    transfer *work = context;

    if (!work->given->quiet && work->log_lines++ < LOG_LINES_MAX)
        transfer_say(work, "%s", line);
}

static int make_endpoint(transfer *work)
{
    netblt_config config;

    netblt_config_default(&config);
    if (work->given->version_byte.given) {
        config.version = (uint8_t)work->given->version_byte.value;
        if (config.version < 64) /* who speaks it must also understand it */
            config.refused_versions &= ~(UINT64_C(1) << config.version);
    }
    config.log = log_line;
    config.log_context = work;
    work->endpoint = netblt_endpoint_new(&config);
    if (work->endpoint == NULL)
        return netblt_fail(&work->failure, NETBLT_FAILURE_LOCAL, "not enough memory");
    return 0;
}

static int make_driver(transfer *work)
{
    work->loop = netblt_loop_new();
    if (work->loop == NULL)
        return netblt_fail(&work->failure, NETBLT_FAILURE_LOCAL, "cannot wait for events: %s", strerror(errno));
    work->driver =
        netblt_driver_new(work->loop, work->link, work->endpoint, transfer_network_error, work, &work->failure);
    return work->driver == NULL ? -1 : 0;
}

/* ---- starting ------------------------------------------------------------------------------------------------- */

static int start_active(transfer *work)
{
    const netblt_options how = {.any_order = work->to != NULL && sink_takes_any_order(work->to)};
    netblt_path path = {
        .local = netblt_link_local(work->link, work->route.source),
        .foreign =
            netblt_ipv4_address(work->peer, work->given->encap == NETBLT_ENCAP_UDP ? options_udp_port(work->given) : 0),
    };
    netblt_params params;
    uint16_t local_port;
    int error;

    if (parameters_propose(work->given, work->route.mtu, work->from == NULL ? 0 : source_size(work->from), &params,
                           &work->failure) != 0 ||
        netblt_driver_own_any_port(work->driver, work->route.source, &local_port, &work->failure) != 0)
        return -1;
    work->started_at = netblt_clock_now();
    error = netblt_open(work->endpoint, &path, local_port, options_port(work->given), work->given->role, &params,
                        netblt_random_u32(), &transfer_client, work, &how, work->started_at, &work->connection);
    if (error != 0)
        return netblt_fail(&work->failure, NETBLT_FAILURE_LOCAL, "cannot open the transfer: %s",
                           netblt_strerror(error));
    return 0;
}

static int start_passive(transfer *work)
{
    uint16_t port = options_port(work->given);
    int error;

    if (netblt_driver_own_port(work->driver, work->given->bind_address, port, true, &work->failure) != 0)
        return -1;
    error = netblt_listen(work->endpoint, port, transfer_accept, work);
    if (error != 0)
        return netblt_fail(&work->failure, NETBLT_FAILURE_LOCAL, "cannot wait on port %u: %s", port,
                           netblt_strerror(error));
    if (work->given->quiet)
        return 0;
    if (work->given->encap == NETBLT_ENCAP_UDP)
        transfer_say(work, "waiting for a %s on port %u, UDP port %u", work->to != NULL ? "sender" : "receiver", port,
                     options_udp_port(work->given));
    else
        transfer_say(work, "waiting for a %s on port %u", work->to != NULL ? "sender" : "receiver", port);
    return 0;
}

static int set_up(transfer *work)
{
    if (open_link(work) != 0 || open_file(work) != 0 || find_peer(work) != 0 || bind_link(work) != 0 ||
        make_endpoint(work) != 0 || make_driver(work) != 0 || transfer_watch_signals(work) != 0)
        return -1;
    progress_init(&work->bar, work->given->quiet);
    return work->given->passive ? start_passive(work) : start_active(work);
}

/* ---- running -------------------------------------------------------------------------------------------------- */

static void show_progress(transfer *work)
{
    const char *slash = strrchr(work->given->file, '/');
    progress_view view = {.name = slash == NULL ? work->given->file : slash + 1};
    netblt_time now = netblt_clock_now();

    if (work->connection == NULL || !work->opened || now < progress_next(&work->bar))
        return;
    if (!work->finished)
        netblt_get_info(work->connection, &work->info);
    view.bytes = work->info.stats.payload_bytes;
    view.total = work->info.negotiated.transfer_size;
    view.resent = work->from != NULL ? work->info.stats.data_packets_retransmitted : work->info.stats.resends_sent;
    view.resent_word = work->from != NULL ? "sent again" : "resends";
    progress_update(&work->bar, &view, now);
}

static bool is_over(const transfer *work)
{
    bool still_writing = work->finished && work->outcome == NETBLT_DONE && work->to != NULL && !work->committed &&
                         sink_failure(work->to) == NULL;

    return work->stopped || (work->closed && !still_writing);
}

/* Before a connection there is nothing to draw, so nothing to wake up for. */
static netblt_time next_drawing(const transfer *work)
{
    return work->opened && !work->finished ? progress_next(&work->bar) : NETBLT_TIME_NEVER;
}

static void run(transfer *work)
{
    while (!is_over(work)) {
        netblt_driver_wait(work->driver, next_drawing(work));
        transfer_tend_client(work);
        netblt_driver_serve(work->driver);
        transfer_tend_client(work);
        show_progress(work);
    }
    netblt_driver_flush(work->driver);
    progress_clear(&work->bar);
}

static void tear_down(transfer *work)
{
    netblt_driver_free(work->driver);
    netblt_endpoint_free(work->endpoint);
    netblt_link_close(work->link);
    netblt_loop_free(work->loop);
    source_close(work->from);
    sink_close(work->to);
    if (work->signal_fd >= 0)
        close(work->signal_fd);
}

enum exit_code transfer_do(const options *given)
{
    transfer work = {.given = given, .signal_fd = -1};
    enum exit_code code;

    if (set_up(&work) == 0)
        run(&work);
    code = transfer_report(&work);
    tear_down(&work);
    return code;
}
