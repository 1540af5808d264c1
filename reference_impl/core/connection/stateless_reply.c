/* SPDX-License-Identifier: BSD-2-Clause */
/* Stateless replies: packets that leave without a connection. */
#include "connection/stateless_reply.h"

#include "base/allocator.h"

#include <string.h>

/* A host that scans our ports gets a reply to each of its first packets and then one in 50 ms: enough for every honest
 * peer, too little to be of use as a reflector. */
#define REPLIES_AT_ONCE 16
#define REPLY_INTERVAL_US 50000

void nb_replies_init(struct nb_replies *replies, const netblt_allocator *allocator)
{
    *replies = (struct nb_replies){.allocator = allocator, .allowance = REPLIES_AT_ONCE};
}

void nb_replies_free(struct nb_replies *replies)
{
    struct nb_reply *reply;
    while ((reply = nb_replies_take(&replies->queue)) != NULL)
        nb_release(replies->allocator, reply);
}

size_t nb_reply_queue(struct nb_replies *replies, const netblt_path *path, const struct nb_emitter *emitter,
                      enum nb_type type, const char *reason)
{
    struct nb_reply *reply = nb_allocate(replies->allocator, sizeof *reply);
    if (reply == NULL)
        return 0;
    *reply = (struct nb_reply){.path = *path};
    reply->length = reason == NULL ? nb_write_bare(reply->packet, emitter, type)
                                   : nb_write_reason(reply->packet, emitter, type, reason);
    nb_replies_append(&replies->queue, reply);
    return reply->length;
}

static void refill_allowance(struct nb_replies *replies, netblt_time now)
{
    netblt_time earned = now > replies->allowance_at ? (now - replies->allowance_at) / REPLY_INTERVAL_US : 0;
    if (replies->allowance + earned >= REPLIES_AT_ONCE) {
        replies->allowance = REPLIES_AT_ONCE;
        replies->allowance_at = now;
    } else {
        replies->allowance += (unsigned)earned;
        replies->allowance_at += earned * REPLY_INTERVAL_US;
    }
}

bool nb_reply_take_allowance(struct nb_replies *replies, netblt_time now)
{
    refill_allowance(replies, now);
    if (replies->allowance == 0)
        return false;
    replies->allowance--;
    return true;
}

size_t nb_reply_queue_limited(struct nb_replies *replies, const netblt_path *path, const struct nb_emitter *emitter,
                              enum nb_type type, const char *reason, netblt_time now)
{
    if (!nb_reply_take_allowance(replies, now))
        return 0;
    return nb_reply_queue(replies, path, emitter, type, reason);
}

size_t nb_reply_write(struct nb_replies *replies, uint8_t *packet, size_t capacity, netblt_output *output)
{
    struct nb_reply *reply = nb_replies_first(&replies->queue);
    *output = (netblt_output){0};
    for (; reply != NULL && reply->length > capacity; reply = nb_replies_next(reply))
        if (output->needed == 0 || reply->length < output->needed)
            output->needed = reply->length;
    if (reply == NULL)
        return 0;
    size_t length = reply->length;
    memcpy(packet, reply->packet, length);
    *output = (netblt_output){.path = reply->path, .segment_bytes = length, .count = 1, .length = length};
    nb_replies_remove(reply);
    nb_release(replies->allocator, reply);
    return length;
}
