/* SPDX-License-Identifier: BSD-2-Clause */
/* The data of the steps of a tree transfer, as sources and sinks of a transfer: what `netblt send`, `recv` and `listen`
 * share. Content is sent by source_open_tree() and stored by sink_open_tree(). */
#ifndef NETBLT_CLI_STEP_DATA_H
#define NETBLT_CLI_STEP_DATA_H

#include "cli/session/step_name.h"
#include "cli/transfer/transfer.h"
#include "cli/tree/held.h"

/* ---- steps 1, 4 and 5 at the end that stores: the transfer has a sink of `store` */
/* In each round, after transfer_tend(): ends the transfer with STEP_RESUME or STEP_CHANGED when the store wants another
 * step. */
void step_follow_store(transfer *work, const tree_store *store);

/* ---- step 3 at the end that has the held list */
/* A source of the header and the held list, which it copies. NULL with *failure. */
source *step_held_source(const held_list *held, const manifest *all, netblt_failure *failure);

/* ---- step 3 at the end that receives the held list */
/* A held list that arrives, in memory. */
typedef struct held_inbox {
    int fd;              /* a memfd; -1: not open */
    uint64_t most_bytes; /* of the encoded list, set before it is opened; 0: HELD_MAX_BYTES */
} held_inbox;

/* A sink for the step's data; transfer.in_order must be set before the connection is opened. NULL with *failure. */
sink *held_inbox_open(held_inbox *box, const sink_how *how, netblt_failure *failure);
/* The transfer is done: the encoded held list, from malloc(), and the first bytes of its hash. NULL with *failure: it
 * is not what its header states, or belongs to another manifest. */
uint8_t *held_inbox_take(held_inbox *box, const uint8_t manifest_id[STEP_ID_BYTES], uint64_t *length,
                         uint8_t held_id[STEP_ID_BYTES], netblt_failure *failure);
/* Also when it is not open. */
void held_inbox_close(held_inbox *box);

#endif
