/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A connection as the capture shows it. Rules, packet tree, statistics and reassembly read this one model. All of it is
 * built on the first pass, in file scope. */
#ifndef NETBLT_STREAM_H
#define NETBLT_STREAM_H

#include "connection/buffers.h"
#include "connection/conversation.h"
#include "connection/emission.h"
#include "connection/messages.h"
#include "connection/position.h"
#include "connection/record.h"
#include "connection/terms.h"
#include "decode/carrier.h"
#include "decode/parse.h"
#include "wireshark/memory.h"

static inline struct nb_origin nb_origin_of(const struct nb_carrier *carrier, uint32_t frame)
{
    return (struct nb_origin){
        .ipv4 = carrier->ipv4, .inside = carrier->inside, .ip_id = carrier->ip_id, .frame = frame};
}

/* Reasons why the capture may not show the whole story; any of them turns a violation into a suspicion. */
enum nb_doubt {
    NB_DOUBT_UNSEEN_ACKED = 1 << 0, /* an acknowledged control message was never captured */
    NB_DOUBT_UNSEEN_DATA = 1 << 1,  /* an OK for a buffer of which packets were never captured */
    NB_DOUBT_CUT = 1 << 2,          /* truncated frames or unreassembled fragments */
    NB_DOUBT_ROLES = 1 << 3,        /* both ends act as sender or both as receiver */
    NB_DOUBT_EPOCH = 1 << 4,        /* packets of another connection on the same ports may be mixed in */
    NB_DOUBT_UNVERIFIED = 1 << 5,   /* checksum validation is switched off */
    NB_DOUBT_BEGINNING = 1 << 7,    /* the transfer was on before OPEN and RESPONSE were captured */
    NB_DOUBT_DATAGRAM = 1 << 6,     /* a datagram held packets of unequal size: a receiver may take the first only */
};

/* These doubts mean that packets may have escaped the capture. A claim on an unbroken flow need not heed them: there
 * the end that acknowledges what was never sent is the one that is wrong. */
#define NB_DOUBTS_OF_LOSS (NB_DOUBT_UNSEEN_ACKED | NB_DOUBT_UNSEEN_DATA)

/* Evidence that IP IDs are a counter: chance below one in 2^28 that others look like this. */
#define NB_EVIDENCE_BITS 28.0

/* A packet, for comparing its place in the order of emission with that of others. */
struct nb_mark {
    uint32_t frame; /* 0: none */
    bool ordered;   /* `number` is valid */
    uint64_t number;
};

/* One of the two ends. */
struct nb_end {
    address address;
    uint16_t port;             /* NETBLT port */
    uint32_t packets;          /* sound, without copies */
    double last_when;          /* when its last packet was captured, s since the first frame; negative before */
    bool opened;               /* OPEN */
    bool sent;                 /* DATA, LDATA or NULL-ACK */
    bool received;             /* CONTROL or DONE */
    struct nb_mark transfer;   /* its first packet of the transfer */
    struct nb_mark abort;      /* its first ABORT */
    struct nb_mark quit_asked; /* its first QUIT */
    double quit_when;          /* when its newest QUIT was captured, s */
    uint32_t quits;
    uint32_t quitacks;
    uint64_t opened_number; /* number of the OPEN or RESPONSE in the flow; 0 when unknown */
    struct nb_emission flow;
};

/* The receiver's control messages, CONTROL by CONTROL. Times are seconds since the first frame. */
struct nb_queue {
    bool cut;          /* the capture holds only a part of a CONTROL: its messages are not known */
    bool in_parts;     /* CONTROLs may be parts, each with a timer of its own: where one begins shows nothing */
    uint32_t gos;      /* distinct messages captured */
    uint32_t oks;      /* as above */
    uint32_t messages; /* as above, of all types */
    uint32_t controls; /* CONTROL packets */
    double when;       /* of the newest CONTROL */
    uint32_t frame;    /* as above; 0: none */
    double fresh_when; /* of the newest CONTROL with something new */
    uint32_t fresh_frame;
    uint16_t published;  /* control timer in the newest OK, ms */
    bool answered;       /* a sender's packet was captured since the newest CONTROL */
    struct nb_mark done; /* DONE */
    bool done_in_time;   /* all that it requires had been captured (CLOSE-01), and nothing new came after it */
};

/* The last buffer of the transfer: the one with L. */
struct nb_last {
    bool known;
    bool contested; /* L was on a packet of a buffer that had others without it */
    uint32_t buffer;
    uint32_t frame;
    int64_t ok_seq; /* OK of the last buffer; 0: none */
};

/* The OK that completed the set of buffers so far: the newest. */
struct nb_final_ok {
    int64_t seq; /* 0: none */
    uint32_t frame;
    double when;         /* s since the first frame */
    uint16_t timer;      /* ms */
    unsigned unanswered; /* repeats of it in a row without an answer */
    bool acked;
};

struct nb_stream {
    struct nb_stream *older;          /* the connection before on the same ports */
    const struct nb_stream *same_uid; /* OPEN-14: the connection before that this end opened with this UID; NULL none */
    uint32_t index;
    uint32_t uid;
    bool uid_known;
    bool open_seen;
    bool response_seen;        /* with the UID of the OPEN */
    bool closed;               /* DONE, ABORT, QUITACK or REFUSED was seen */
    bool follows_another;      /* the same ports carried another connection before */
    bool data_checksummed;     /* C in the RESPONSE */
    bool guarded;              /* nb_is_guarded of the RESPONSE */
    bool reads_as_version4;    /* an OPEN or RESPONSE does, and not as RFC 998, which leaves the version byte open */
    int8_t sender;             /* end (0 or 1) that sends data; -1 unknown */
    int8_t active;             /* end that opened; -1 unknown */
    uint16_t data_packet_size; /* of the RESPONSE; 0 unknown */
    enum nb_dialect dialect;   /* NB_AUTO: not known yet */
    unsigned doubts;           /* enum nb_doubt */
    struct nb_end end[2];
    /* opening */
    struct nb_terms open;     /* the first OPEN */
    struct nb_terms response; /* the first RESPONSE; one of the end that did not open takes precedence */
    int8_t responder;         /* the end that emitted it; valid when response.frame is set */
    char *client_string;      /* of the OPEN; NULL none */
    /* control messages and their acknowledgement */
    bool acked_known;
    int64_t acked;             /* highest acknowledged sequence number captured, unwrapped */
    int64_t newest;            /* highest control message captured, unwrapped */
    double quickest_ack;       /* s, from the first sending of a message to its acknowledgement; negative: none yet */
    struct nb_mark acked_mark; /* the sender's packet with the highest high-seq */
    struct nb_messages messages;
    struct nb_queue queue;
    struct nb_pace agreed; /* RESPONSE, then the newest OK that is acknowledged */
    int64_t agreed_seq;    /* this OK; 0: RESPONSE */
    /* buffers */
    struct nb_buffers buffers;
    struct nb_last last;
    struct nb_final_ok final_ok;
    bool highest_data_known;
    uint32_t highest_data;    /* the highest buffer of which data were captured */
    double highest_data_when; /* when its first packet was captured, s */
    uint32_t unaccepted;      /* buffers of which data were captured and no OK */
    uint32_t accepted;        /* OKs that were captured, acknowledged before or not */
    uint64_t arrived;         /* the receiver has got what the sender emitted under this number; 0 nothing known */
    struct nb_conversation conversation;
    struct nb_reaction reaction;
    struct nb_account account;   /* of the analysis */
    struct nb_point point;       /* where it was captured */
    bool placed;                 /* captured_at was looked for */
    int8_t captured_at;          /* the end at which it was captured; -1 not known */
    const char *offenders[2][3]; /* nb_offender, as far as it was needed */
    int64_t reserved[];          /* nb_stream_reserve */
};

/* What this end proposed or accepted; frame 0: neither was captured. */
static inline const struct nb_terms *nb_terms_by(const struct nb_stream *stream, int end)
{
    static const struct nb_terms none;

    return stream->active == end                                             ? &stream->open
           : stream->response.frame != 0 && stream->responder == (int8_t)end ? &stream->response
                                                                             : &none;
}

/* What the RESPONSE states; NULL when it was not captured, or not the OPEN. */
static inline const struct nb_terms *nb_terms_of(const struct nb_stream *stream)
{
    const struct nb_terms *terms = nb_terms_by(stream, stream->active == 0);

    return stream->active < 0 || terms->frame == 0 ? NULL : terms;
}

/* To be called once when the protocol is registered. */
void nb_register_streams(void);

/* Reserves `bytes` zeroed bytes in each connection for a user of the model that keeps state of its own. To be called
 * when the protocol is registered. Returns where they lie. */
size_t nb_stream_reserve(size_t bytes);

/* The bytes of this connection that nb_stream_reserve returned `place` for. */
static inline void *nb_stream_reserved(const struct nb_stream *stream, size_t place)
{
    return (char *)(uintptr_t)stream->reserved + place;
}

/* The connection that a packet belongs to; NULL: none. */
struct nb_stream *nb_stream_of_record(const struct nb_record *record);

/* Number of streams in the file so far. */
uint32_t nb_stream_count(void);

/* The stream that a sound packet belongs to, and its end in *end. Makes one when there is none. */
struct nb_stream *nb_stream_of(const struct nb_packet *packet, const struct nb_carrier *carrier, packet_info *pinfo,
                               int *end);

/* As above for packets that may change nothing; NULL when there is none. */
struct nb_stream *nb_stream_lookup(const struct nb_packet *packet, const struct nb_carrier *carrier, packet_info *pinfo,
                                   int *end);

/* Sequence number nearest to `near` that reads `seq` on the wire (serial arithmetic, AMB-12). */
static inline int64_t nb_unwrap(int64_t nearest, uint16_t seq)
{
    return nearest + (int16_t)(uint16_t)(seq - (uint16_t)nearest);
}

/* The capture was made at this end, and holds every packet that it emitted or received. */
static inline bool nb_sees_all_of(const struct nb_stream *stream, int end)
{
    return stream->point.whole && stream->captured_at == end;
}

/* True when the capture shows all that a violation needs (requirements.md, "When a passive observer may report
 * violation"). */
bool nb_whole_story(const struct nb_stream *stream);

/* Why nb_whole_story is false, as text; file scope. */
const char *nb_what_is_missing(const struct nb_stream *stream);

/* "10.0.0.1 receiver"; file scope. */
const char *nb_offender(struct nb_stream *stream, int end);

#endif
