/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NETBLT_CORE_FAREWELL_H
#define NETBLT_CORE_FAREWELL_H

#include "base/list.h"
#include "wire/wire.h"

#include <netblt/endpoint.h>

/* Packets that leave without a connection behind them: the last packet of one that has closed (DONE, ABORT), and
 * answers to strangers (REFUSED, ABORT for a foreign unique ID). Answers are rate limited (AMB-26), last words are not.
 */

struct nb_farewell {
    struct nb_link link;
    netblt_path path;
    size_t length;
    uint8_t packet[NB_REASON_MAX_BYTES];
};

NB_LIST_OF(nb_farewell_queue, struct nb_farewell, link)

struct nb_farewells {
    const netblt_allocator *allocator;
    struct nb_list queue; /* the oldest first */
    unsigned answers_left;
    netblt_time answers_counted_at; /* up to when the allowance was computed */
};

void nb_farewells_init(struct nb_farewells *farewells, const netblt_allocator *allocator);
void nb_farewells_free(struct nb_farewells *farewells);

/* DONE without a reason, ABORT with one. Answers the packet's bytes; 0 when memory is short, and then the packet is
 * lost as the network might have lost it. */
size_t nb_farewell_say(struct nb_farewells *farewells, const netblt_path *path, const struct nb_emitter *emitter,
                       enum nb_type type, const char *reason);
/* The same for an answer, which is dropped when too many strangers were answered lately. */
size_t nb_farewell_answer(struct nb_farewells *farewells, const netblt_path *path, const struct nb_emitter *emitter,
                          enum nb_type type, const char *reason, netblt_time now);

/* Takes one answer from the allowance; false when nothing is left of it. */
bool nb_farewell_allowance(struct nb_farewells *farewells, netblt_time now);

/* Takes the oldest packet that fits `capacity`; 0 when there is none. */
size_t nb_farewell_write(struct nb_farewells *farewells, uint8_t *packet, size_t capacity, netblt_output *output);

#endif
