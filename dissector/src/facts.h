/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the rules remember of a connection. All of it is built on the first pass, in file scope. */
#ifndef NETBLT_FACTS_H
#define NETBLT_FACTS_H

#include "buffers.h"
#include "stream.h"
#include "told.h"
#include "verdicts.h"

/* A packet, for comparing its place in the order of emission with that of others. */
struct nb_mark {
    uint32_t frame; /* 0: none */
    bool ordered;   /* `number` is valid */
    uint64_t number;
};

/* OPEN or RESPONSE, first copy. */
struct nb_proposal {
    uint32_t frame; /* 0: not captured */
    uint32_t buffer_size;
    uint32_t transfer_size;
    uint16_t data_packet_size;
    uint16_t burst_size;
    uint16_t burst_interval; /* ms */
    uint16_t death_timer;    /* s */
    uint16_t flags;
    uint16_t max_buffers;
    uint32_t text_hash; /* client string */
};

/* Burst size and interval (ms): "looser" is more packets per time. */
struct nb_pace {
    uint16_t size;
    uint16_t interval;
};

/* What either of both allows. */
static inline struct nb_pace nb_looser(struct nb_pace a, struct nb_pace b)
{
    return (struct nb_pace){MAX(a.size, b.size), MIN(a.interval, b.interval)};
}

/* What an end has to bear of the other (ROBUST-03..08), and what asks for no answer (TIMER-12). */
enum nb_odd {
    NB_ODD_RESEND = 1 << 0,    /* a RESEND that overruns its packet */
    NB_ODD_RESERVED = 1 << 1,  /* reserved bits */
    NB_ODD_STRING = 1 << 2,    /* a missing or unterminated string */
    NB_ODD_DATA = 1 << 3,      /* data that nobody asked for */
    NB_ODD_CONTROL = 1 << 4,   /* an OK or DONE that cannot be */
    NB_ODD_DIRECTION = 1 << 5, /* of the other role, or of an opening that is over */
    NB_ODD_KEEPALIVE = 1 << 6,
};

/* One of the two ends. */
struct nb_side {
    struct nb_proposal terms;
    uint32_t packets;  /* sound, without copies */
    uint32_t openings; /* OPENs or RESPONSEs */
    double last_when;  /* when its last packet was captured; negative before */
    uint8_t version;   /* of its first packet */
    bool transferred;  /* has emitted CONTROL, DATA, LDATA or NULL-ACK */
    bool sent;         /* DATA, LDATA or NULL-ACK */
    bool received;     /* CONTROL or DONE */
    bool clashed;      /* both: told once */
    bool fell_silent;  /* told that it emits nothing any more, though it does */
    bool goes_on_told; /* told that it emits something after its ABORT */
    bool opened;       /* OPEN */
    bool silence_told; /* told that it has emitted nothing for longer than the other end waits */
    bool sparse_told;  /* told that it is silent too often for too long */
    bool quit_told;    /* told that its QUIT is not repeated */
    uint8_t sparse;    /* silences in a row that leave no room for losses */
    double quit_when;  /* when its newest QUIT was captured */
    unsigned odd;      /* enum nb_odd, since the other end's newest packet */
    uint8_t bad_data;
    uint8_t data_left_out;
    unsigned bad_header; /* packets with a bad checksum */
    uint8_t bad_of_type[NB_DONE + 1];
    unsigned like[7];    /* of these, what a known mistake explains: analysis-wire.c */
    uint16_t good_types; /* bits: types of which one had a good checksum */
    bool good_data;
    struct nb_mark transfer; /* its first packet of the transfer */
    struct nb_mark quit;     /* QUIT or QUITACK */
    bool transfers_on;       /* though its QUIT has been acknowledged */
    struct nb_mark abort;
    struct nb_mark quit_asked; /* QUIT alone */
    uint32_t quits;
    uint32_t quitacks;
    unsigned unanswered; /* QUITs in a row */
};

/* The receiver's queue as its newest CONTROL showed it. */
struct nb_queue {
    struct nb_mark head_mark;
    int64_t known_ack; /* the receiver knew of it when it queued message known_from */
    int64_t known_low; /* even had it got no more than one packet of the buffer */
    int64_t known_from;
    uint32_t known_frame;
    int64_t head;       /* first message of a CONTROL that was right to begin there */
    bool cut;           /* the capture holds only a part of a CONTROL: its messages are not known */
    bool in_parts;      /* CONTROLs may be parts, each with a timer of its own: where one begins tells nothing */
    int64_t go_seq;     /* newest GO in sequence order, and its buffer */
    uint32_t go_buffer; /* valid when go_seq > 0 */
    uint32_t gos;       /* distinct messages captured */
    uint32_t oks;
    uint32_t messages;
    uint32_t controls;
    int64_t repeated_up_to; /* highest message of the newest CONTROL */
    double emitted_when;    /* of the newest CONTROL with something new */
    double told_when;       /* of the newest CONTROL */
    uint32_t told_frame;
    uint16_t published;     /* control timer in the newest OK, ms */
    unsigned repeats;       /* of this CONTROL since */
    uint32_t lone_ok_frame; /* the newest CONTROL with something new has OKs and no GO */
    double lone_ok_when;
    bool answered; /* a sender's packet was captured since the newest CONTROL */
    bool waits_told;
    bool unrepeated_told;  /* told that the newest CONTROL is not repeated */
    uint32_t done_packets; /* sound packets of the sender up to the newest DONE */
    struct nb_mark done;
};

enum { NB_PACED_KEPT = 4, NB_AFTER_OK_KEPT = 4 };

/* The sender's pace: a bucket that lets every span T have size * (T / interval + 2) packets. */
struct nb_bucket {
    double level; /* packets */
    double when;
    struct nb_pace pace;    /* loosest that may be in force; size 0 not known */
    struct nb_pace settled; /* RATE-05: loosest since the OK settled_from; size 0 not known */
    int64_t settled_from;
    double settled_level;
    double settled_when;
    uint32_t recent[NB_PACED_KEPT]; /* contents of the last packets */
    uint8_t recent_at;
    uint32_t in_burst;
    uint32_t largest_burst;
    bool told;
};

struct nb_claim; /* judge.c */

struct nb_facts {
    struct nb_side side[2];
    int8_t active; /* end that opened; -1 unknown */
    struct nb_told_log told;
    struct nb_buffers buffers;
    struct nb_queue queue;
    struct nb_bucket bucket;
    uint64_t arrived;          /* the receiver has got what the sender emitted under this number; 0 nothing known */
    struct nb_mark acked_mark; /* the sender's packet with the highest high-seq */
    int64_t fallen_to;         /* the lowest high-seq since that packet that was told to be too low, */
    uint32_t fallen_from;      /* and the frame of it; 0 none */
    int64_t damaged_seq;       /* messages above damaged_above up to this came with a bad checksum only; 0 none */
    int64_t damaged_above;
    uint32_t damaged_frame;
    struct nb_pace agreed; /* RESPONSE, then the newest OK that is acknowledged */
    int64_t agreed_seq;    /* this OK; 0: RESPONSE */
    bool last_known;       /* L was seen */
    bool last_contested;   /* on a packet of a buffer that had others without it */
    uint32_t last_buffer;
    uint32_t last_frame;
    int64_t last_ok_seq;  /* OK of the last buffer */
    int64_t final_ok_seq; /* OK that completed the set */
    uint32_t final_ok_frame;
    double final_ok_when;
    uint16_t final_ok_timer;
    unsigned final_unanswered; /* repeats of it in a row without an answer */
    bool final_acked;
    bool higher_than_last;
    bool highest_data_known;
    double highest_data_when;            /* when its first packet was captured */
    uint32_t highest_data;               /* buffer */
    uint32_t unaccepted;                 /* buffers of which data were captured and no OK */
    uint32_t accepted;                   /* OKs that were captured, acknowledged before or not */
    unsigned strays;                     /* RESPONSEs with another unique ID while this one was opening, */
    uint32_t stray_openings;             /* and its OPENs up to the newest of them */
    uint32_t after_ok[NB_AFTER_OK_KEPT]; /* buffers that RESENDs after their OK were last told of, */
    unsigned after_ok_told;              /* and how many times so far */
    unsigned ungone_told;                /* data that do not acknowledge their own GO: told once */
    unsigned unopened;                   /* packets of the transfer without the RESPONSE */
    bool mode_told;
    bool base_from_one_possible;
    double gap_from; /* end of a buffer while the next was GO'd; negative none */
    uint32_t gap_buffer;
    bool gap_ok;
    struct nb_claim *claims;
    unsigned claim_count;
    struct nb_standing *blamed; /* [NB_RULES]; made with the first finding */
    uint32_t kept[NB_RULES];
    uint32_t first_kept[NB_RULES]; /* frames: written once, and last, behind what each packet needs */
};

/* Of a new connection; the memory is zeroed. */
void nb_facts_init(struct nb_facts *facts);

/* What the RESPONSE says; NULL when it was not captured. */
static inline const struct nb_proposal *nb_terms_of(const struct nb_facts *facts)
{
    const struct nb_proposal *terms = &facts->side[facts->active == 0].terms;

    return facts->active < 0 || terms->frame == 0 ? NULL : terms;
}

#endif
