/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The control messages of a connection. Each lives from its first CONTROL to its acknowledgement, whatever CONTROLs
 * carry it between. */
#ifndef NETBLT_MESSAGES_H
#define NETBLT_MESSAGES_H

#include "connection/record.h"
#include "decode/parse.h"
#include "wireshark/series.h"

/* A message that is so far above all others is not believed; RFC 998 thinks of 50 to 80 in a packet. */
#define NB_MESSAGE_WINDOW 1024

/* One control message, however often it was sent. */
struct nb_message_life {
    union {
        nb_moment one;   /* sent once: most are */
        nb_moment *many; /* ascending */
    } sendings;          /* of every CONTROL that holds it: nb_message_sendings */
    nb_moment acked;     /* the first packet that acknowledges it */
    uint32_t buffer;
    uint32_t hash;           /* of what a repetition must not change (CTRL-02) */
    unsigned sent : 28;      /* number of sendings */
    unsigned type : 3;       /* enum nb_message_type */
    unsigned in_time : 1;    /* captured before its acknowledgement */
    uint16_t bytes;          /* that it takes in a packet */
    uint16_t burst_size;     /* OK: the largest offered in any copy */
    uint16_t burst_interval; /* OK: the shortest offered in any copy, ms */
    uint16_t timer;          /* OK: as published in the first copy, ms */
    uint16_t company;        /* in every CONTROL with it at least so many consecutive messages follow it */
};

struct nb_messages {
    bool known;
    int64_t base;           /* number of the first of `lives` */
    int64_t marked;         /* the highest that is marked as acknowledged */
    int64_t in_time;        /* the highest that was captured before its acknowledgement */
    struct nb_series lives; /* of struct nb_message_life */
};

/* Every CONTROL that holds the message, ascending; life->sent of them. */
static inline const nb_moment *nb_message_sendings(const struct nb_message_life *life)
{
    return life->sent > 1 ? life->sendings.many : &life->sendings.one;
}

/* The CONTROL in which it was captured first. */
static inline nb_moment nb_message_first(const struct nb_message_life *life)
{
    return nb_message_sendings(life)[0];
}

static inline uint32_t nb_message_frame(const struct nb_message_life *life)
{
    return nb_frame_of(nb_message_first(life));
}

/* NULL when it was not captured before its acknowledgement. Message 0 does not exist. */
struct nb_message_life *nb_message_find(const struct nb_messages *messages, int64_t seq);

/* NULL when it was never captured. */
struct nb_message_life *nb_message_find_any(const struct nb_messages *messages, int64_t seq);

/* Makes a place for message `seq`. NULL for numbers too far from the others to be believed, or without memory. `base`:
 * the lowest number that is possible, when this is the first message. */
struct nb_message_life *nb_message_place(struct nb_messages *messages, int64_t seq, int64_t base);

/* One more CONTROL holds it. */
void nb_message_sent(struct nb_message_life *life, nb_moment moment);

/* What a repetition must not change: type, number, buffer and list. */
uint32_t nb_message_hash(const struct nb_packet *packet, const struct nb_message *message);

#endif
