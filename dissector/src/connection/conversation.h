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

#endif
