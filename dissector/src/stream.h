/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Connections in the capture, their state, and what is kept for each frame. All state is built on the first pass. */
#ifndef NETBLT_STREAM_H
#define NETBLT_STREAM_H

#include "compat.h"
#include "emission.h"
#include "findings.h"
#include "memory.h"
#include "parse.h"
#include "position.h"
#include "record.h"

/* Which header carried the packet. */
struct nb_carrier {
    bool udp;
    bool ipv4;
    bool inside; /* not the first packet of its datagram */
    uint16_t ip_id;
    uint16_t udp_source; /* 0 over plain IP */
    uint16_t udp_target;
    unsigned doubts; /* enum nb_doubt: about the datagram that it came in */
};

static inline struct nb_origin nb_origin_of(const struct nb_carrier *carrier, uint32_t frame)
{
    return (struct nb_origin){
        .ipv4 = carrier->ipv4, .inside = carrier->inside, .ip_id = carrier->ip_id, .frame = frame};
}

/* Reasons why the capture may not tell the whole story; any of them turns a violation into a suspicion. */
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

struct nb_conversation;
struct nb_redundancy;
struct nb_order;
struct nb_facts;
struct nb_etftp;

struct nb_stream {
    struct nb_facts *facts;               /* facts.h */
    struct nb_conversation *conversation; /* conversation.h */
    struct nb_redundancy *redundancy;
    struct nb_order *order;           /* NULL before the first RESEND */
    struct nb_etftp *etftp;           /* NULL but for connections in that dialect */
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
    int8_t sender;             /* end (0 or 1) that sends data; -1 unknown */
    uint16_t data_packet_size; /* of the RESPONSE; 0 unknown */
    enum nb_dialect dialect;   /* NB_AUTO: not known yet */
    unsigned doubts;           /* enum nb_doubt */
    bool acked_known;
    int64_t acked;             /* highest acknowledged sequence number captured, unwrapped */
    int64_t newest;            /* highest control message captured, unwrapped */
    uint64_t opened_number[2]; /* number of the OPEN or RESPONSE in the flow; 0 when unknown */
    struct nb_reaction reaction;
    struct nb_account account;   /* of the analysis */
    const char *offenders[2][3]; /* nb_offender, as far as it was asked for */
    address ends[2];
    struct nb_emission flow[2];
};

/* One packet together with everything known about it, handed to the rules. */
struct nb_event {
    const struct nb_packet *packet;
    struct nb_stream *stream;
    struct nb_record *record;
    struct nb_emitted emitted;
    int end; /* 0 or 1: emitter */
    uint32_t frame;
    uint32_t ordinal; /* of the record */
    uint32_t content; /* hash of the packet's first bytes */
    int64_t now_ns;   /* since the first frame of the file */
    double now;       /* the same in seconds */
    bool over_udp;
    bool at_receiver; /* as at_sender, of the receiver */
    bool at_sender;   /* the user said so: capture order is the sender's emission order */
    bool sound_data;  /* false for DATA with a bad data checksum */
};

/* To be called once when the protocol is registered. */
void nb_register_streams(void);

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

/* True when the capture shows all that a violation needs (requirements.md, "When a passive observer may say
 * violation"). */
bool nb_whole_story(const struct nb_stream *stream);

/* Why nb_whole_story is false, in words; file scope. */
const char *nb_what_is_missing(const struct nb_stream *stream);

/* "10.0.0.1 receiver"; file scope. */
const char *nb_offender(struct nb_stream *stream, int end);

#endif
