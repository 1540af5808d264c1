/* SPDX-License-Identifier: BSD-2-Clause */
/* The data sender's queue of GO messages (RFC 998 5.2.1). */
#ifndef NETBLT_CORE_GO_QUEUE_H
#define NETBLT_CORE_GO_QUEUE_H

#include "control/sequence.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The data sender's queue of GO messages (RFC 998 5.2.1): which buffer numbers the peer has requested and the client
 * has not filled yet.
 *
 * RFC 998 8 lets buffer numbers only increase; it does not fix the step (AMB-09, AMB-47). The queue keeps them in
 * ascending order. A GO is ready when no lower GO can be under way any more: its control number is the next one in
 * sequence, or its buffer number is the next one. Another GO is held until one of these becomes true. */

/* Runs of ready numbers and held GOs together. Beyond this a GO is treated as not received, and the peer repeats it.
 * Ready numbers that follow one another take one run, however many they are. */
enum { NB_GO_QUEUE_MAX = 64 };

struct nb_go_run {
    uint32_t first;
    uint32_t count;
};

struct nb_held_go {
    uint32_t buffer;
    uint16_t seq;
};

struct nb_go_queue {
    bool any;         /* a GO was ready once; `highest` and `span` have a meaning */
    uint32_t highest; /* buffer number of the newest ready GO */
    uint64_t span;    /* from the first ready number to `highest` */
    struct nb_go_run runs[NB_GO_QUEUE_MAX];
    size_t run_count;
    struct nb_held_go held[NB_GO_QUEUE_MAX];
    size_t held_count;
};

/* Adds the GO with control number `seq`, which `sequence` has not recorded yet. False: there is no room, treat it as
 * not received. A GO whose buffer number does not increase is ignored. */
bool nb_go_queue_add(struct nb_go_queue *queue, const struct nb_sequence *sequence, uint16_t seq, uint32_t buffer);
/* `sequence` has recorded one more number: held GOs may have become ready. */
void nb_go_queue_update(struct nb_go_queue *queue, const struct nb_sequence *sequence);
/* Whether a number is ready. */
bool nb_go_queue_has(const struct nb_go_queue *queue);
/* Removes the lowest ready number and returns it. */
uint32_t nb_go_queue_take(struct nb_go_queue *queue);
/* Whether `number` lies between the first number that was ever ready and the newest one that was taken. */
bool nb_go_queue_has_passed(const struct nb_go_queue *queue, uint32_t number);

#endif
