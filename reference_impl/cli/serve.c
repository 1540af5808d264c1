/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/serve.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/place.h"

static void tend(void *context)
{
    serve *server = context;

    for (served **place = &server->all; *place != NULL;) {
        served *one = *place;

        transfer_tend(&one->work);
        if (!transfer_is_over(&one->work)) {
            place = &one->next;
            continue;
        }
        *place = one->next;
        serve_report(server, one);
        served_free(one);
    }
}

/* As for one transfer: the first signal asks all peers for an orderly end, the second tells them that we are gone, the
 * third tells nobody. Nothing new begins. */
static void interrupted(void *context, unsigned count)
{
    serve *server = context;

    server->interrupted = count;
    for (served *one = server->all; one != NULL; one = one->next)
        (void)transfer_interrupt(&one->work, count > 1);
    if (count > 2)
        server->stopped = true;
    else if (count == 1 && server->all != NULL && !server->given->quiet)
        station_say(&server->net, "interrupted: asking all peers to stop; interrupt again to abort");
}

static bool is_over(const serve *server)
{
    return server->stopped || (server->interrupted > 0 && server->all == NULL);
}

static int open_root(serve *server)
{
    server->root = open(server->given->root, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (server->root < 0)
        return netblt_fail(&server->failure, NETBLT_FAILURE_LOCAL, "--root %s: %s", server->given->root,
                           strerror(errno));
    if (!server->given->read_only)
        place_remove_stale(server->root);
    return 0;
}

static int set_up(serve *server)
{
    const station_events events = {.interrupted = interrupted, .context = server};
    netblt_failure *failure = &server->failure;

    if (station_open(&server->net, server->given, failure) != 0 || open_root(server) != 0 ||
        station_watch_signals(&server->net, failure) != 0 || station_start(&server->net, &events, failure) != 0 ||
        station_listen(&server->net, serve_accept, server, failure) != 0)
        return -1;
    if (!server->given->quiet)
        station_say(&server->net, "waiting for transfers on port %u%s", options_port(server->given),
                    server->given->encap == NETBLT_ENCAP_UDP ? " inside UDP" : "");
    return 0;
}

static enum exit_code report(serve *server)
{
    summary end;
    enum exit_code code = EXIT_CODE_INTERRUPTED; /* nothing else ends a server that could begin */

    if (server->failure.kind == NETBLT_FAILURE_NONE)
        return code;
    code = transfer_judge_failure(server->given, &server->failure, &end);
    station_say(&server->net, "%s", end.reason);
    if (server->given->json)
        summary_print_json(&end, stdout);
    return code;
}

enum exit_code command_serve(const options *given)
{
    serve server = {.given = given, .root = -1};
    enum exit_code code;

    if (set_up(&server) == 0) {
        while (!is_over(&server))
            station_round(&server.net, NETBLT_TIME_NEVER, tend, &server);
        netblt_driver_flush(server.net.driver);
    }
    code = report(&server);
    while (server.all != NULL) {
        served *one = server.all;

        server.all = one->next;
        served_free(one);
    }
    station_close(&server.net); /* the threads of the transfers wake it */
    if (server.root >= 0)
        close(server.root);
    return code;
}
