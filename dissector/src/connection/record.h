/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is kept for each NETBLT packet of the file. Made on the first pass, only read afterwards. */
#ifndef NETBLT_RECORD_H
#define NETBLT_RECORD_H

#include "wireshark/compat.h"

struct nb_stream;

/* A packet of the file, and with it a frame and a time: its record's ordinal + 1; 0: none. */
typedef uint32_t nb_moment;

enum nb_note_kind {
    NB_NOTE_FIRST_SENT,      /* retransmission of OPEN, QUIT and the like: the first transmission */
    NB_NOTE_FIRST_DATA_SENT, /* DATA, LDATA: the first transmission */
    NB_NOTE_SENT_AGAIN,      /* reverse of both: the first retransmission */
    NB_NOTE_ASKED_BY,        /* retransmission: the RESEND */
    NB_NOTE_REPAIRED_BY,     /* reverse: the first retransmission that the RESEND requested */
    NB_NOTE_ANSWER_TO,       /* RESPONSE, DONE, QUITACK ...: what it answers */
    NB_NOTE_ANSWERED_BY,     /* reverse */
    NB_NOTE_STARTS,          /* first DATA of a buffer: the first GO */
    NB_NOTE_ACKNOWLEDGES,    /* high-seq went up: the first CONTROL with the newest message */
    NB_NOTE_COPY_OF,         /* the same packet twice in the capture: the first */
    NB_NOTE_BURST_GAP,       /* first packet of a burst: the first packet of the burst before */
    NB_NOTE_FINDING,         /* the beginning of a struct nb_finding */
};

/* What few packets have: links to others, findings. */
struct nb_note {
    struct nb_note *next;
    nb_moment other; /* the packet that it is about */
    uint8_t kind;    /* enum nb_note_kind */
};

/* Bits of nb_record.facts. */
enum nb_fact {
    NB_RETRANSMISSION = 1 << 0, /* sent before, or requested by a RESEND */
    NB_OUT_OF_ORDER = 1 << 1,   /* overtaken by packets captured before */
    NB_BURST_START = 1 << 2,
    NB_DATA_SPOILT = 1 << 3, /* bad data checksum */
    NB_IS_COPY = 1 << 4,     /* of a packet that was captured before */
    NB_NOT_JUDGED = 1 << 5,  /* there was no memory for more of its connection */
};

/* Small, since captures have millions: whatever few packets have is a note. */
struct nb_record {
    int64_t now_ns; /* since the first frame of the file */
    struct nb_note *notes;
    uint32_t stream; /* nb_stream_of_record; 0: the packet belongs to none */
    uint32_t frame;
    uint32_t key;   /* which packet of the frame: nb_record_key */
    uint32_t burst; /* from 1; 0 when the packet is in no burst */
    union {
        uint16_t burst_position; /* from 1; CONTROLs have none */
        uint16_t epoch;          /* CONTROL: how often the sequence numbers had wrapped */
    };
    uint16_t outstanding;          /* buffers GO'd and not OK'd after this packet */
    unsigned facts : 8;            /* enum nb_fact */
    unsigned end : 1;              /* which end emitted it */
    signed sender : 2;             /* end that sends data, as known at this packet; -1 unknown */
    unsigned position : 2;         /* enum nb_position, as inferred up to here */
    unsigned dialect : 3;          /* enum nb_dialect */
    unsigned data_checksummed : 1; /* as negotiated up to here */
};

/* A frame may hold several NETBLT packets: several payloads (tunnels: occurrence, from 0) and several packets in one
 * UDP datagram (idx, from 0). */
static inline uint32_t nb_record_key(uint32_t occurrence, uint32_t idx)
{
    return occurrence << 16 | idx;
}

/* To be called once when the protocol is registered. */
void nb_register_records(void);

/* A frame is looked at for the first time. A read filter (tshark -2 -R) gives the number of a frame that it drops to
 * the next one, and the second pass comes with the numbers of those that are left: what was kept of the dropped one
 * under this number is found no more. */
void nb_record_begin(uint32_t frame, int64_t offset);

/* A zeroed record (file scope). Frames must come in ascending order. */
struct nb_record *nb_record_add(uint32_t frame, uint32_t key);

/* NULL when there is none. Constant time for the packets of a frame in their order. */
struct nb_record *nb_record_find(uint32_t frame, uint32_t key);

/* The first record of the frame; NULL when it has none. */
struct nb_record *nb_record_first(uint32_t frame);

/* Frame and time (ns since the first frame of the file) of a packet; 0 for none. */
uint32_t nb_frame_of(nb_moment moment);
int64_t nb_time_of(nb_moment moment);

/* Seconds. */
static inline double nb_seconds(int64_t ns)
{
    return (double)ns / 1e9;
}

/* The packet of a record. */
nb_moment nb_moment_of(const struct nb_record *record);

/* Adds a note to a record, after the others. */
void nb_note_add(struct nb_record *record, struct nb_note *note);

/* Adds a link to another packet to a record. */
void nb_note(struct nb_record *record, enum nb_note_kind kind, nb_moment other);

/* Unless a note of this kind is there already. */
void nb_note_once(struct nb_record *record, enum nb_note_kind kind, nb_moment other);

/* The packet is a copy of the one in `frame`; nothing when that is 0. */
void nb_note_copy(struct nb_record *record, uint32_t frame);

/* Number of records so far. nb_record_at(0 .. count-1) gives them in capture order. */
uint32_t nb_record_count(void);
struct nb_record *nb_record_at(uint32_t ordinal);

#endif
