/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The buffers of a connection: what was captured of each. */
#ifndef NETBLT_BUFFERS_H
#define NETBLT_BUFFERS_H

#include "connection/record.h"
#include "wireshark/series.h"

enum nb_part_flag {
    NB_PART_SEEN = 1 << 0,
    NB_PART_GOOD = 1 << 1, /* a copy whose data checksum was not wrong */
    NB_PART_LDATA = 1 << 2,
    NB_PART_LAST = 1 << 3,        /* L */
    NB_PART_HASHED = 1 << 4,      /* `hash` is valid */
    NB_PART_CHECKED = 1 << 5,     /* and of data with a good checksum */
    NB_PART_DOUBLED = 1 << 6,     /* too many copies: reported once */
    NB_PART_SAME_ASKED = 1 << 7,  /* a RESEND message that names it was captured more than once */
    NB_PART_KNOWN_FIRST = 1 << 8, /* the RESEND was known when it was sent first */
    NB_PART_UNSEEN = 1 << 9,      /* its first copy was not captured: all that were are retransmissions */
};

/* A packet of a buffer. */
struct nb_part {
    uint32_t frame;  /* of the newest copy */
    uint32_t record; /* its ordinal + 1, or that of the first copy too many */
    uint32_t hash;
    uint16_t length; /* data bytes */
    uint8_t copies;  /* emitted, as far as captured */
    uint8_t asked;   /* RESEND messages that name it */
    uint8_t apart;   /* of these copies, that acknowledge more than any before: no network makes one of another */
    uint16_t flags;  /* enum nb_part_flag */
    uint16_t ack;    /* the highest that one of them acknowledges */
};

/* A packet that seems out of order, until it is known whether it was a repair. / */
struct nb_misplaced {
    uint32_t frame; /* 0: none */
    uint32_t before_frame;
    uint16_t packet;
    bool proven; /* the order of emission is */
};

/* What a RESEND requested. */
struct nb_asked {
    struct nb_asked *older;
    int64_t seq;
    nb_moment moment; /* the CONTROL in which it was captured first */
    nb_moment effect; /* the newest packet that it requested and that came since */
    uint16_t count;
    uint16_t missing;   /* of the packets, those that have not come since: they come first */
    uint16_t packets[]; /* numbers */
};

/* All that RESENDs requested in a buffer. */
struct nb_requests {
    struct nb_asked *newest; /* as many as are remembered */
    nb_moment first, last;   /* the first and the newest RESEND */
    uint32_t count;          /* different RESENDs */
    uint32_t lost;           /* packets that they requested, without those beyond the LDATA (AMB-32) */
};

/* What is known of a buffer, for as long as the file is open. */
struct nb_buffer_life {
    uint32_t number;
    nb_moment go, first_data, ok; /* the first of their kind */
    nb_moment ldata;              /* the first LDATA */
    uint16_t ldata_number;        /* its packet number */
    uint16_t base;                /* packet number of first_sent[0] */
    bool made;                    /* false: only a place for one */
    bool last;                    /* L was set in a packet */
    int32_t highest;              /* packet number; -1 none */
    uint32_t go_message;          /* number of the first GO, from nb_messages.base on, + 1; 0 none */
    uint32_t tracked;             /* entries of first_sent in use */
    uint32_t room;
    uint32_t packets;             /* different packets captured */
    uint32_t transmissions;       /* DATA and LDATA packets captured */
    uint32_t retransmitted;       /* of these, captured or requested before */
    uint64_t bytes;               /* in the different packets */
    nb_moment *first_sent;        /* of each packet */
    struct nb_requests *requests; /* NULL before the first RESEND */
    struct nb_buffer *transfer;   /* NULL: it is not in transfer, as far as the rules know */
};

/* The first transmission of a packet; 0: it was not captured, or is not remembered. */
static inline nb_moment nb_first_sent(const struct nb_buffer_life *life, uint32_t packet)
{
    return packet >= life->base && packet - life->base < life->tracked ? life->first_sent[packet - life->base] : 0;
}

/* All packets up to the LDATA were captured. */
static inline bool nb_buffer_is_complete(const struct nb_buffer_life *life)
{
    return life->ldata != 0 && life->packets == life->ldata_number + 1U;
}

/* Of all buffers of a connection. */
struct nb_totals {
    uint64_t bytes; /* each packet once */
    uint64_t transmissions, retransmitted, resends, lost;
    uint32_t started;                                              /* buffers of which a packet was captured */
    uint32_t complete;                                             /* buffers of which all were */
    nb_moment last_data;                                           /* first transmission of the newest data packet */
    const struct nb_buffer_life *lowest, *highest, *below_highest; /* by number, of those started; NULL: none */
};

/* What the rules know of a buffer in transfer. It is forgotten when its OK is acknowledged, so that a long transfer
 * needs no more of it than a short one. */
struct nb_buffer {
    struct nb_buffer_life *life;
    struct nb_buffer *lower; /* neighbours in transfer, by number */
    struct nb_buffer *higher;
    struct nb_part *parts;
    uint32_t room;
    uint32_t not_counted; /* which RESENDs name packets from this number on is not known; 0: it is known of all */
    int last;             /* number of the LDATA; -1 not seen */
    uint32_t distinct;    /* packets */
    uint32_t good;        /* of these, with a copy whose data checksum was not wrong */
    uint64_t bytes;       /* in all distinct packets */
    int64_t go_seq;       /* 0: not captured */
    int64_t ok_seq;
    uint32_t follows;   /* the GO before it names this buffer, and those between have none; */
    bool follows_known; /* valid */
    int64_t pace_seq;   /* RATE-05: newest OK that was acknowledged when its GO came; 0 none */
    int64_t ask_seq;    /* newest RESEND */
    int64_t told_ack;   /* the highest high-seq in packets that were captured for the first time, */
    int64_t next_ack;   /* the highest in all of these but one, */
    int64_t low_ack;    /* and the lowest */
    uint32_t ask_frame;
    uint32_t last_frame;      /* of the LDATA */
    uint32_t unmarked_frame;  /* of the DATA that ends a full buffer; 0 none */
    uint32_t unmarked_record; /* its ordinal + 1 */
    double last_when;
    uint64_t last_number;  /* IP ID count of the LDATA */
    uint32_t passed_frame; /* a packet of a later buffer, emitted when the sender knew the GO of this */
    uint64_t passed_number;
    bool passed_ordered;
    bool last_ordered;
    bool last_asked;       /* a RESEND named the LDATA before its first copy: it may be out of turn (AMB-35) */
    uint64_t newest_first; /* the highest IP ID count of packets that were captured for the first time */
    bool firsts_unordered; /* not known of all */
    bool counted;          /* among those that have no OK */
    bool retired;
    bool sized; /* its size was judged */
    bool last_flagged;
    bool ended_twice; /* an LDATA came too early: who gives OK may have got no more than up to there */
    bool overlooked;  /* packets of it were captured of which nothing is remembered: it may be whole */
    bool go_missing_told;
    struct nb_misplaced behind_later;  /* ORDER-01 */
    struct nb_misplaced behind_higher; /* ORDER-03 */
};

enum { NB_BUFFERS_GONE = 16 };

struct nb_buffers {
    bool known;
    uint32_t base;          /* number of the first of `lives` */
    struct nb_series lives; /* of struct nb_buffer_life */
    wmem_map_t *far_lives;  /* by number: those that are far from the others; NULL none */
    struct nb_buffer_life *recent;
    bool first_go_known;
    uint32_t first_go; /* lowest buffer that a GO named */
    int32_t outstanding;
    struct nb_totals totals;
    /* in transfer */
    struct nb_buffer *lowest;
    struct nb_buffer *highest;
    struct nb_buffer *spare;            /* memory of those that were forgotten, by `higher`: the next will take it */
    struct nb_spare_parts *spare_parts; /* as much of their parts; buffers.c */
    uint32_t usual_room;                /* parts of the largest buffer so far, within reason */
    uint32_t started;                   /* buffers in transfer of which data were captured */
    bool from_zero;                     /* some buffer had a packet 0, */
    bool from_one;                      /* and some had all its bytes without one (AMB-10) */
    struct nb_gone {
        uint32_t number;
        int last;       /* number of the LDATA */
        int64_t ok_seq; /* 0: none is remembered here */
    } * gone; /* [NB_BUFFERS_GONE] the newest that were forgotten and that no RESEND ever requested, by number; NULL */
    bool base_known;
    int64_t done_below; /* nb_buffer_order: all lower ones are complete and forgotten */
};

/* The place of a number among those of the connection. RFC 998 8: numbers of 32 bits are unique and increase, by
 * whatever step. Those of a transfer do not wrap unless it began in their upper half: only then those far below its
 * first number come after the others. */
int64_t nb_buffer_order(const struct nb_buffers *buffers, uint32_t number);

/* `number` comes after `other`. */
static inline bool nb_buffer_is_after(const struct nb_buffers *buffers, uint32_t number, uint32_t other)
{
    return nb_buffer_order(buffers, number) > nb_buffer_order(buffers, other);
}

/* NULL: it is not known; with `make`, there is no memory for it. */
struct nb_buffer_life *nb_buffer_life(struct nb_buffers *buffers, uint32_t number, bool make);

/* As above, only to be looked at; NULL when there is none. */
struct nb_buffer_life *nb_buffer_life_find(const struct nb_buffers *buffers, uint32_t number);

/* NULL when it is not in transfer. */
struct nb_buffer *nb_buffer_find(const struct nb_buffers *buffers, uint32_t number);

/* As above, made when needed. */
struct nb_buffer *nb_buffer_get(struct nb_buffers *buffers, uint32_t number);

/* Complete, acknowledged and forgotten. */
bool nb_buffer_is_done(const struct nb_buffers *buffers, uint32_t number);

/* The OK of a buffer that is complete, that no RESEND ever requested, and that has this packet; 0: it is none, or was
 * forgotten long ago. */
int64_t nb_buffer_unasked_ok(const struct nb_buffers *buffers, uint32_t number, uint16_t packet);

/* All RESENDs that this packet answers are counted. */
static inline bool nb_buffer_counts_requests(const struct nb_buffer *buffer, uint32_t packet)
{
    return buffer->not_counted == 0 || (packet < buffer->not_counted && (int)packet != buffer->last);
}

/* No GO for the number is known: of one that is done, the receiver has left it out. */
static inline bool nb_buffer_has_no_go(const struct nb_buffers *buffers, uint32_t number)
{
    const struct nb_buffer_life *life = nb_buffer_life_find(buffers, number);

    return life == NULL || life->go == 0;
}

/* How often packets were requested that this one answers. A sender may answer a request for a packet after the LDATA,
 * which does not exist, with the LDATA: it shows the receiver where the buffer ends (AMB-32). */
uint32_t nb_buffer_requests(const struct nb_buffer *buffer, uint32_t packet);

/* A GO for it was captured, be it as message 0. */
static inline bool nb_buffer_has_go(const struct nb_buffer *buffer)
{
    return buffer->go_seq != 0 || buffer->life->go != 0;
}

/* The packet's slot, made when needed; NULL when there is no memory for it. */
struct nb_part *nb_buffer_part(struct nb_buffers *buffers, struct nb_buffer *buffer, uint16_t packet);

/* Copies that were emitted at least. */
static inline unsigned nb_part_emitted(const struct nb_part *part)
{
    return part->copies + (part->flags & NB_PART_UNSEEN ? 1U : 0U);
}

/* NULL when nothing is known of it. */
struct nb_part *nb_buffer_known_part(const struct nb_buffer *buffer, uint16_t packet);

/* Forgets the buffer: its OK is acknowledged. */
void nb_buffer_retire(struct nb_buffers *buffers, struct nb_buffer *buffer);

/* Packets up to the LDATA of which only copies with a bad data checksum were captured. What a sender numbers beyond it
 * belongs to no buffer. */
uint32_t nb_buffer_spoilt(const struct nb_buffer *buffer);

/* All packets up to the LDATA were captured. AMB-10: numbers count from 0; from 1 for some, which only a sender's flow
 * without a missing packet (`unbroken`) distinguishes from a lost packet. */
bool nb_buffer_is_whole(const struct nb_buffers *buffers, const struct nb_buffer *buffer, bool unbroken);

#endif
