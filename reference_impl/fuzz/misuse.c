/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls that an endpoint must refuse, and calls without effect. */
#include "station.h"

#include <string.h>

enum { TOO_LONG_BYTES = NETBLT_STRING_MAX_BYTES + 1 };

static int open_with(struct station *station, struct model *model, const netblt_params *params,
                     const netblt_client *client)
{
    netblt_path path = station_path(station, model);
    netblt_connection *connection = NULL;
    return netblt_open(station->endpoint,
                       &(netblt_open_args){.size = sizeof(netblt_open_args),
                                           .path = &path,
                                           .local_port = model->local_port,
                                           .foreign_port = model->foreign_port,
                                           .role = NETBLT_SENDER,
                                           .unique_id = 1,
                                           .params = params,
                                           .client = client,
                                           .context = model},
                       station->now, &connection);
}

static int open_badly(struct station *station, struct model *model, unsigned how)
{
    static const netblt_client unable = {.size = sizeof unable};
    netblt_params params = station->limits;
    if (how == 0)
        params.burst_size = 0;
    else if (how == 1)
        params.transfer_size = NETBLT_TRANSFER_MAX_BYTES + 1;
    else if (how == 2)
        params.death_timer_s = 0;
    else if (how == 3)
        memset(params.client_string, 'x', sizeof params.client_string);
    return open_with(station, model, &params, how == 4 ? &unable : how == 5 ? NULL : &model_client);
}

static int call_of_connection(struct station *station, struct model *model, unsigned how)
{
    char reason[TOO_LONG_BYTES + 1];
    memset(reason, 'x', TOO_LONG_BYTES);
    reason[TOO_LONG_BYTES] = 0;
    if (how == 6)
        return netblt_quit(model->connection, reason, station->now) == NETBLT_ERR_TOO_LONG;
    if (how == 7)
        return netblt_abort(model->connection, reason, station->now) == NETBLT_ERR_TOO_LONG;
    return open_with(station, model, &station->limits, &model_client) == NETBLT_ERR_PORT_IN_USE;
}

void station_misuse(struct station *station, struct model *model, unsigned how)
{
    netblt_path path = station_path(station, model);
    if (how < 6) {
        int error = open_badly(station, model, how);
        FUZZ_CHECK(error == NETBLT_ERR_INVALID_ARGUMENT && netblt_strerror(error)[0] != 0);
    } else if (how < 9 && model->connection != NULL) {
        FUZZ_CHECK(call_of_connection(station, model, how));
    } else if (how == 9) {
        netblt_unlisten(station->endpoint, STATION_PORT);
        netblt_unlisten(station->endpoint, STATION_PORT + 1); /* has no listener */
    } else if (how == 10) {
        netblt_unlisten(station->endpoint, STATION_PORT);
        station_listen(station);
    } else if (how == 12) { /* ICMP */
        model->unreachable = model->connection != NULL;
        netblt_unreachable(station->endpoint, &path.foreign, 0, station->now);
    } else if (how == 11) {
        FUZZ_CHECK(netblt_input(station->endpoint, &path, NULL, 0, 1, station->now) == NETBLT_ERR_MALFORMED);
        FUZZ_CHECK(netblt_input(station->endpoint, &path, (const uint8_t *)"", 1, 0, station->now) < 0);
    }
}
