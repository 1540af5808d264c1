/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The control messages of a connection, from the first CONTROL to the acknowledgement. */
#include "connection/messages.h"

#include "wireshark/memory.h"

/* A forged sequence number must not cost memory for all numbers below it. */
#define LARGEST_GAP 4096

/* A place, used or not; NULL when there is none. */
static struct nb_message_life *place_of(const struct nb_messages *messages, int64_t seq)
{
    if (seq < messages->base || seq >= messages->base + messages->lives.count) {
        return NULL;
    }
    return (struct nb_message_life *)nb_series_at(&messages->lives, (uint32_t)(seq - messages->base),
                                                  sizeof(struct nb_message_life));
}

struct nb_message_life *nb_message_find_any(const struct nb_messages *messages, int64_t seq)
{
    struct nb_message_life *life = place_of(messages, seq);

    return life != NULL && life->sent > 0 ? life : NULL;
}

struct nb_message_life *nb_message_find(const struct nb_messages *messages, int64_t seq)
{
    struct nb_message_life *life = nb_message_find_any(messages, seq);

    return life != NULL && life->in_time ? life : NULL;
}

struct nb_message_life *nb_message_place(struct nb_messages *messages, int64_t seq, int64_t base)
{
    if (!messages->known) {
        messages->known = true;
        messages->base = base;
    }
    if (seq < messages->base || seq >= messages->base + messages->lives.count + LARGEST_GAP) {
        return NULL;
    }
    nb_series_grow(&messages->lives, (uint32_t)(seq - messages->base) + 1, sizeof(struct nb_message_life));
    return place_of(messages, seq);
}

/* Capacity doubles at every power of two, so it needs not be stored. */
void nb_message_sent(struct nb_message_life *life, nb_moment moment)
{
    if (life->sent == 0) {
        life->sendings.one = moment;
    } else if (life->sent == 1) {
        nb_moment *many = (nb_moment *)nb_file_new(2 * sizeof(nb_moment));
        many[0] = life->sendings.one;
        many[1] = moment;
        life->sendings.many = many;
    } else {
        if ((life->sent & (life->sent - 1U)) == 0) {
            const size_t bytes = life->sent * sizeof(nb_moment);
            life->sendings.many = (nb_moment *)nb_file_realloc(life->sendings.many, bytes, 2 * bytes);
        }
        life->sendings.many[life->sent] = moment;
    }
    life->sent++;
}

/* FNV-1a. An OK's offer and timer may change (CTRL-02), and padding is no part of the message: no rule requires that it
 * is the same twice (AMB-16). */
uint32_t nb_message_hash(const struct nb_packet *packet, const struct nb_message *message)
{
    enum { PADDING = 1, COMMON_BYTES = 8, COUNT_END = 10 };
    const bool resend = message->type == NB_RESEND;
    const int list = resend ? message->list - message->offset : COMMON_BYTES;
    const int end = resend ? list + 2 * message->count : COMMON_BYTES;
    const uint8_t *p = tvb_get_ptr(packet->tvb, message->offset, end);
    uint32_t hash = 2166136261U;

    for (int i = 0; i < end; i++) {
        if (i != PADDING && !(resend && i >= COUNT_END && i < list)) {
            hash = (hash ^ p[i]) * 16777619U;
        }
    }
    return hash;
}
