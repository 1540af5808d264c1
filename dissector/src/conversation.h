/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What happened between the packets of a connection, without judging it: retransmissions, who answers whom and after
 * what time, bursts, outstanding buffers. Built on the first pass; what a packet is told about later packets appears
 * when it is looked at again. */
#ifndef NETBLT_CONVERSATION_H
#define NETBLT_CONVERSATION_H

#include "series.h"
#include "stream.h"

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

/* Parameters as an OPEN or RESPONSE gave them. */
struct nb_terms {
    uint32_t frame; /* where they were given; 0 not known */
    uint32_t buffer_size, transfer_size;
    uint16_t packet_size, burst_size, burst_interval_ms, death_timer_s, max_buffers, flags;
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
    bool begun;           /* a packet that counts was captured */
    uint8_t completeness; /* enum nb_completeness */
    struct nb_terms proposed, negotiated;
    uint16_t burst_size, burst_interval_ms; /* as last announced */
    char *client_string;                    /* of the OPEN; NULL none */
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

/* First pass: takes note of a packet that counts (sound, checksum not wrong) and fills its record. */
void nb_converse(struct nb_event *event);

/* fetch.h: the messages around this one, and the buffer that was in hand last. */
void nb_conversation_fetch(const struct nb_conversation *conversation, int64_t seq);

/* Adds a note to a record. */
void nb_note(struct nb_record *record, enum nb_note_kind kind, uint32_t frame, int64_t time_ns);

/* The packet is a copy of the one in `frame`; nothing when that is 0. */
void nb_note_copy(struct nb_record *record, uint32_t frame);

/* Unless a note of this kind is there already. */
void nb_note_once(struct nb_record *record, enum nb_note_kind kind, uint32_t frame, int64_t time_ns);

/* conversation-data.c */
void nb_converse_data(struct nb_event *event);
struct nb_buffer_life *nb_buffer_life(struct nb_conversation *conversation, uint32_t number, bool make);

/* Where it is or will be among those that are near, without a look at it; NULL when it has no place there. */
struct nb_buffer_life *nb_buffer_life_place(const struct nb_conversation *conversation, uint32_t number);

/* As above, only to be looked at; NULL when there is none. */
const struct nb_buffer_life *nb_buffer_life_find(const struct nb_conversation *conversation, uint32_t number);

/* conversation-control.c. `ack` is a high-seq from the wire. */
void nb_converse_control(struct nb_event *event);
void nb_converse_ack(struct nb_event *event, uint16_t high_seq);

/* Frames of every CONTROL that holds the message, ascending; life->sent of them. */
static inline const uint32_t *nb_message_frames(const struct nb_message_life *life)
{
    return life->sent > 1 ? life->frames.many : &life->frames.one;
}

/* The life of the message with this sequence number in a CONTROL with this record; NULL when there is none. */
const struct nb_message_life *nb_message_life(const struct nb_record *record, uint16_t seq);

/* bursts.c */
void nb_converse_burst(struct nb_event *event);

/* show-conversation.c: stream, roles, terms, facts and notes of the packet. */
void nb_show_conversation(const struct nb_packet *packet, const struct nb_record *record, packet_info *pinfo,
                          proto_tree *tree);

/* Retransmission, duplicate, out of order: as expert items. */
void nb_tell_events(const struct nb_record *record, packet_info *pinfo, proto_item *root);

/* Of one message in the tree of a CONTROL. */
void nb_show_message_life(const struct nb_record *record, const struct nb_message *message, packet_info *pinfo,
                          tvbuff_t *tvb, proto_tree *tree);

/* fields-conversation.c */
void nb_register_conversation_fields(int proto);

#endif
