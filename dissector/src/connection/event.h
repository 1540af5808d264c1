/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One packet with all that is known about it, and what it adds to the model (take.h): rules get both at once, so that
 * no rule depends on whether the model was brought up to date before it. */
#ifndef NETBLT_EVENT_H
#define NETBLT_EVENT_H

#include "connection/record.h"
#include "connection/stream.h"

/* An OPEN or RESPONSE, beside what its end said before. */
struct nb_opened {
    struct nb_terms now;
    struct nb_terms before; /* frame 0: it is the first */
};

/* What a packet of the sender acknowledges, beside what was acknowledged before it. */
struct nb_ack {
    bool given;     /* this packet acknowledges something */
    int64_t now;    /* high-seq of this packet, unwrapped */
    int64_t before; /* the highest that was captured before it */
    bool first;     /* of the captured messages up to `now` it is the first to acknowledge the newest */
};

enum nb_heard_kind {
    NB_HEARD_FRESH, /* captured for the first time, and not acknowledged */
    NB_HEARD_AGAIN, /* captured before */
    NB_HEARD_LATE,  /* acknowledged before it was captured, or too far ahead to be remembered */
};

/* A message of a CONTROL. */
struct nb_heard {
    enum nb_heard_kind kind;
    struct nb_message message;
    int64_t seq;                  /* unwrapped */
    struct nb_message_life *life; /* never NULL but for NB_HEARD_LATE */
};

struct nb_event {
    const struct nb_packet *packet;
    struct nb_stream *stream;
    struct nb_record *record;
    struct nb_emitted emitted;
    int end; /* 0 or 1: emitter */
    uint32_t frame;
    nb_moment moment;
    uint32_t content; /* hash of the packet's first bytes */
    int64_t now_ns;   /* since the first frame of the file */
    double now;       /* the same in seconds */
    bool over_udp;
    bool at_receiver; /* as at_sender, of the receiver */
    bool at_sender;   /* the user said so: capture order is the sender's emission order */
    bool sound_data;  /* false for DATA with a bad data checksum */
    /* what it adds to the model */
    const struct nb_opened *opened; /* OPEN, RESPONSE; valid until the next packet, else NULL */
    struct nb_ack ack;              /* DATA, LDATA, NULL-ACK of the sender */
    /* CONTROL of the receiver; valid until the next packet */
    const struct nb_heard *heard;
    unsigned heard_count;
    enum nb_walk heard_end; /* why there are no more */
    int64_t newest_before;  /* the highest message captured before */
};

/* This packet, to be compared with later ones. */
static inline struct nb_mark nb_mark_of(const struct nb_event *event)
{
    return (struct nb_mark){
        .frame = event->frame, .ordered = event->emitted.arrival != NB_NO_ORDER, .number = event->emitted.number};
}

#endif
