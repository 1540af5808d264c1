/* SPDX-License-Identifier: BSD-2-Clause */
/* The one place of `netblt send` and `recv` with --passive, and the peers that may get it. */
#ifndef NETBLT_CLI_ONLY_PLACE_H
#define NETBLT_CLI_ONLY_PLACE_H

#include <sys/queue.h>

#include "cli/transfer/transfer.h"

/* Anybody can forge an OPEN, so several connections may be open: the first whose peer is validated gets the place, and
 * the others are aborted. A stream can be read only once: who asks for its first buffer gets the place at once. */
typedef struct only_place {
    const options *given;
    transfer *file;    /* what is to be moved, as opened by the command */
    transfer *current; /* the same; when the place is taken, the transfer with that peer */
    netblt_client client;
    LIST_HEAD(, candidate) candidates;
    uint64_t first_bytes; /* that buffers of unvalidated peers may take */
} only_place;

/* `file` outlives the place. */
void only_place_init(only_place *place, const options *given, transfer *file);
/* netblt_accept_fn; `context` is the only_place. */
void only_place_accept(void *context, const netblt_request *request, netblt_answer *answer);
/* Gives the place to the only peer there is, validated or not: the command is to end, and that peer is to know. */
void only_place_settle(only_place *place);
/* Nothing but netblt_endpoint_free() follows at the endpoint. `file` and what it has open are left to the caller. */
void only_place_clear(only_place *place);

#endif
