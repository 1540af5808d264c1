/* SPDX-License-Identifier: BSD-2-Clause */
/* Stateless replies: packets that leave without a connection. */
#ifndef NETBLT_CORE_STATELESS_REPLY_H
#define NETBLT_CORE_STATELESS_REPLY_H

#include "base/list.h"
#include "wire/wire.h"

#include <netblt/endpoint.h>

/* Two kinds: the last packet of a connection that has closed (DONE, ABORT), and replies to packets of no connection
 * (REFUSED, ABORT for a foreign unique ID). Only the replies are rate limited (AMB-26). */

struct nb_reply {
    struct nb_link link;
    netblt_path path;
    size_t length;
    uint8_t packet[NB_REASON_MAX_BYTES];
};

NB_LIST_OF(nb_replies, struct nb_reply, link)

struct nb_replies {
    const netblt_allocator *allocator;
    struct nb_list queue;     /* the oldest first */
    unsigned allowance;       /* replies that may leave at once */
    netblt_time allowance_at; /* up to when the allowance was computed */
};

void nb_replies_init(struct nb_replies *replies, const netblt_allocator *allocator);
void nb_replies_free(struct nb_replies *replies);

/* Queues DONE without a reason, or ABORT or REFUSED with one. Returns the packet's bytes; 0 when memory is short: the
 * packet is lost, as it might be in the network. */
size_t nb_reply_queue(struct nb_replies *replies, const netblt_path *path, const struct nb_emitter *emitter,
                      enum nb_type type, const char *reason);
/* The same for a reply, which is dropped when the allowance is used up. */
size_t nb_reply_queue_limited(struct nb_replies *replies, const netblt_path *path, const struct nb_emitter *emitter,
                              enum nb_type type, const char *reason, netblt_time now);

/* Takes one reply from the allowance; false when nothing is left of it. */
bool nb_reply_take_allowance(struct nb_replies *replies, netblt_time now);

/* Takes the oldest packet that fits `capacity`; 0 when there is none. */
size_t nb_reply_write(struct nb_replies *replies, uint8_t *packet, size_t capacity, netblt_output *output);

#endif
