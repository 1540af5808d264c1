/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>

#include "cli/signals.h"
#include "cli/transfer.h"
#include "io/clock.h"

/* ---- signals ------------------------------------------------------------------------------------------------------
 */

/* The first signal asks the peer for an orderly end (QUIT), the second tells it that we are gone (ABORT), the third
 * tells nobody. Without a peer, or when all is done, there is nothing to ask. */
static void interrupt(transfer *work)
{
    netblt_time now = netblt_clock_now();

    work->signals++;
    if (work->connection == NULL || work->finished || work->signals > 2) {
        work->stopped = true;
        return;
    }
    if (work->signals == 1 && netblt_quit(work->connection, "interrupted by the user", now) == 0) {
        if (!work->given->quiet && !work->finished) /* while opening there is nobody to ask: it is over */
            transfer_say(work, "interrupted: asking the peer to stop; interrupt again to abort");
        return;
    }
    if (netblt_abort(work->connection, "interrupted by the user", now) != 0)
        work->stopped = true;
}

static void signal_ready(void *context, uint32_t events)
{
    transfer *work = context;

    (void)events;
    for (unsigned left = signals_take(work->signal_fd); left > 0; left--)
        interrupt(work);
}

int transfer_watch_signals(transfer *work)
{
    work->signal_fd = signals_open();
    if (work->signal_fd < 0 || netblt_loop_watch(work->loop, work->signal_fd, EPOLLIN, signal_ready, work) != 0)
        return netblt_fail(&work->failure, NETBLT_FAILURE_LOCAL, "cannot wait for signals: %s", strerror(errno));
    return 0;
}

/* ---- errors from the network --------------------------------------------------------------------------------------
 */

/* Two OPENs that came back are no accident; one may be, for instance when both ends are started at the same time. */
#define OPEN_ERRORS_MAX 2

static void explain(const transfer *work, int error, char *text, size_t capacity)
{
    const char *host = work->given->host;

    if (error == ECONNREFUSED)
        snprintf(text, capacity, "nothing answers on UDP port %u of %s: start netblt there with --passive --encap udp",
                 options_udp_port(work->given), host);
    else if (error == ENOPROTOOPT)
        snprintf(text, capacity,
                 "%s does not take IP protocol 30: start netblt there with --passive, or use --encap udp at both ends",
                 host);
    else if (error == EPERM || error == EACCES)
        snprintf(text, capacity, "packets to %s may not leave this host: a firewall here forbids them", host);
    else
        snprintf(text, capacity, "%s is unreachable: %s; check the address, the cable and the routes", host,
                 strerror(error));
}

static void error_while_opening(transfer *work, int error)
{
    char text[300];

    if (++work->open_errors < OPEN_ERRORS_MAX || work->failure.kind != NETBLT_FAILURE_NONE)
        return;
    explain(work, error, text, sizeof text);
    netblt_fail(&work->failure, NETBLT_FAILURE_UNREACHABLE, "%s", text);
    work->stopped = true;
}

/* An established transfer outlives what the network says, as long as the peer itself does not fall silent (TIMER-10).
 */
static void error_while_open(transfer *work, const netblt_network_error *error)
{
    char peer[NETBLT_IPV4_TEXT_BYTES];

    if (work->given->quiet || error->error == work->reported_error)
        return;
    work->reported_error = error->error;
    netblt_ipv4_text(&error->foreign, peer);
    if (error->error == EMSGSIZE)
        transfer_say(work,
                     "the path to %s carries only smaller packets: going on in fragments; use a smaller --packet-size",
                     peer);
    else
        transfer_say(work, "the network says of %s: %s; going on, in case it passes", peer, strerror(error->error));
}

void transfer_network_error(void *context, const netblt_network_error *error)
{
    transfer *work = context;

    if (work->finished || work->closed)
        return;
    if (work->opened)
        error_while_open(work, error);
    else if (!work->given->passive && error->error != EMSGSIZE)
        error_while_opening(work, error->error);
}
