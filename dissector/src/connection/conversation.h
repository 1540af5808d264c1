/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What happened between the packets of a connection, without judging it: retransmissions, who answers whom and after
 * what time, bursts, outstanding buffers. Built on the first pass; what a packet is told about later packets appears
 * when it is looked at again. */
#ifndef NETBLT_CONVERSATION_H
#define NETBLT_CONVERSATION_H

#include "wireshark/series.h"

/* What few packets have. Times are nanoseconds. */
#define NB_NO_TIME INT64_MIN

enum nb_note_kind {
    NB_NOTE_FIRST_SENT,   /* DATA and all that is sent again: frame of the first transmission; time since */
    NB_NOTE_SENT_AGAIN,   /* reverse: frame of the first retransmission */
    NB_NOTE_ASKED_BY,     /* repair: frame of the RESEND; time since */
    NB_NOTE_REPAIRED_BY,  /* reverse: frame of the first repair */
    NB_NOTE_ANSWER_TO,    /* RESPONSE, DONE, QUITACK ...: frame of what it answers; time since */
    NB_NOTE_ANSWERED_BY,  /* reverse */
    NB_NOTE_STARTS,       /* first DATA of a buffer: frame of the first GO; time since */
    NB_NOTE_ACKNOWLEDGES, /* high-seq went up: frame of the first CONTROL with the newest message; time since */
    NB_NOTE_COPY_OF,      /* the same packet twice in the capture: frame of the first */
    NB_NOTE_BURST_GAP,    /* first packet of a burst: frame of the first packet of the burst before; time since */
};

struct nb_note {
    struct nb_note *next;
    int64_t time_ns;
    uint32_t frame;
    uint8_t kind; /* enum nb_note_kind */
};

/* One control message, however often it was sent. */
struct nb_message_life {
    int64_t first_ns; /* since the first frame of the file */
    int64_t ack_ns;
    union {
        uint32_t one;   /* sent once: most are */
        uint32_t *many; /* ascending */
    } frames;           /* of every CONTROL that holds it: nb_message_frames */
    uint32_t sent;      /* number of frames */
    uint32_t ack_frame;
    uint32_t buffer;
    uint8_t type; /* enum nb_message_type */
};

/* What a RESEND asked for. */
struct nb_asked {
    struct nb_asked *older;
    int64_t seq;
    int64_t at_ns;
    uint32_t record; /* ordinal */
    uint32_t count;
    uint16_t packets[];
};

struct nb_buffer_life {
    int64_t go_ns, first_data_ns, ok_ns;
    uint32_t number;
    uint32_t go_frame, first_data_frame, ok_frame; /* 0 not seen */
    uint32_t tracked;                              /* entries of first_sent in use */
    uint32_t room;
    int32_t highest;      /* packet number; -1 none */
    uint16_t base;        /* packet number of first_sent[0] */
    bool made;            /* false: only a place for one */
    uint32_t *first_sent; /* of each packet, ordinal + 1 of its first record; 0 not seen */
    struct nb_asked *asked;
};

enum nb_completeness {
    NB_SEEN_OPEN = 1 << 0,
    NB_SEEN_RESPONSE = 1 << 1,
    NB_SEEN_DATA = 1 << 2,
    NB_SEEN_LAST = 1 << 3, /* the LDATA of the last buffer */
    NB_SEEN_DONE = 1 << 4,
    NB_SEEN_BREAK = 1 << 5, /* QUIT, QUITACK, ABORT or REFUSED */
};

struct nb_once {
    int64_t ns;
    uint32_t record; /* ordinal + 1; 0 none */
};

enum { NB_ONCE_TYPES = 13, NB_IDS_KEPT = 4 };

struct nb_conversation {
    bool begun;                             /* a packet that counts was captured */
    uint8_t completeness;                   /* enum nb_completeness */
    uint16_t burst_size, burst_interval_ms; /* as last announced */
    /* control messages: number message_base is the first of messages */
    bool messages_known;
    int64_t message_base, newest, acked;
    struct nb_series messages; /* of struct nb_message_life */
    /* buffers */
    bool first_go_known;
    uint32_t first_go; /* lowest buffer that a GO named */
    bool buffers_known;
    uint32_t buffer_base;     /* number of the first of buffers */
    struct nb_series buffers; /* of struct nb_buffer_life */
    wmem_map_t *far_buffers;  /* by number: those that are far from the others; NULL none */
    struct nb_buffer_life *recent;
    int32_t outstanding;
    /* bursts of the sender */
    uint32_t burst, burst_position, burst_frame;
    int64_t burst_ns, last_data_ns;
    /* the last packets of each end, to know copies where IP IDs do not count upwards */
    struct {
        uint16_t ip_id;
        uint32_t hash, frame;
    } recent_ids[2][NB_IDS_KEPT];
    uint8_t recent_at[2];
    /* last, behind what each packet needs: by end and type, the first packet of a kind that is sent again */
    struct nb_once first_of[2][NB_ONCE_TYPES];
};

/* Frames of every CONTROL that holds the message, ascending; life->sent of them. */
static inline const uint32_t *nb_message_frames(const struct nb_message_life *life)
{
    return life->sent > 1 ? life->frames.many : &life->frames.one;
}

#endif
