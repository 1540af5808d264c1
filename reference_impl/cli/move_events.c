/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/move.h"
#include "cli/report.h"

/* The first signal asks the peer for an orderly end (QUIT), the second tells it that we are gone (ABORT), the third
 * tells nobody. Without a peer, or when all is done, there is nothing to ask. */
void move_interrupted(void *context, unsigned count)
{
    move *all = context;

    only_place_settle(&all->place);
    if (!transfer_interrupt(all->place.current, count > 1) || count > 2)
        all->stopped = true;
    else if (count == 1 && !all->place.current->finished) /* while opening it is over at once */
        report_note("interrupted: asking the peer to stop; interrupt again to abort");
}

/* ---- errors from the network ------------------------------------------------------------------------------------ */

/* Two OPENs that came back are no accident; one may be, for instance when both ends are started at the same time. */
#define OPEN_ERRORS_MAX 2

void move_explain_error(const options *given, int error, char *text, size_t capacity)
{
    const char *host = given->host;

    if (error == ECONNREFUSED)
        snprintf(text, capacity, "nothing answers on UDP port %u of %s: start netblt there with --passive --encap udp",
                 (uint16_t)given->udp_port.value, host);
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

static void error_while_opening(move *all, int error)
{
    char text[300];

    if (++all->open_errors < OPEN_ERRORS_MAX || all->place.current->failure.kind != NETBLT_FAILURE_NONE)
        return;
    move_explain_error(all->given, error, text, sizeof text);
    netblt_fail(&all->place.current->failure, NETBLT_FAILURE_UNREACHABLE, "%s", text);
    all->stopped = true;
}

/* An established transfer outlives what the network says, as long as the peer itself does not fall silent (TIMER-10).
 */
static void error_while_open(move *all, const netblt_network_error *error)
{
    char peer[NETBLT_ADDRESS_TEXT_BYTES];

    if (error->error == all->reported_error)
        return;
    all->reported_error = error->error;
    netblt_address_text(&error->foreign, peer);
    if (error->error == EMSGSIZE)
        report_note("the path to %s carries only smaller packets: going on in fragments; use a smaller --packet-size",
                    peer);
    else
        report_note("the network says of %s: %s; going on, in case it passes", peer, strerror(error->error));
}

void move_network_error(void *context, const netblt_network_error *error)
{
    move *all = context;

    if (all->place.current->finished || all->place.current->closed)
        return;
    if (all->place.current->opened)
        error_while_open(all, error);
    else if (!all->given->passive && error->error != EMSGSIZE)
        error_while_opening(all, error->error);
}
