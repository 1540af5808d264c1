/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NETBLT_CLI_MOVE_H
#define NETBLT_CLI_MOVE_H

#include "cli/only_place.h"

/* send and recv: one transfer and the end.
 * move.c        sets it up and runs it
 * move_events.c what happens from outside: signals, errors from the network */
typedef struct move {
    const options *given;
    station net;
    transfer work;        /* of an active end; its file is that of a passive end too */
    only_place place;     /* of a passive end; its `current` is the transfer of either end */
    bool stopped;         /* leave now, whatever the state */
    unsigned open_errors; /* ICMP errors that answered our OPENs */
    int reported_error;   /* errno of the last one that the user was told of */
} move;

/* For station_events; the context is the move. */
void move_interrupted(void *context, unsigned count);
void move_network_error(void *context, const netblt_network_error *error);

/* What an error that answered an OPEN means, for people; also for perf. */
void move_explain_error(const options *given, int error, char *text, size_t capacity);

#endif
