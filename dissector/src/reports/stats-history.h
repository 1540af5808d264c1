/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The history of the connections that a listener has seen: buffers, control messages and their times. Times are seconds
 * since the first frame of the file, all at the capture point; 0 is a frame number that never was. */
#ifndef NETBLT_STATS_HISTORY_H
#define NETBLT_STATS_HISTORY_H

#include "reports/tap.h"
#include "rules/verdicts.h"
#include "wireshark/memory.h"

/* A moment in the capture. */
struct nb_moment {
    uint32_t frame; /* 0: never */
    double time;
};

struct nb_message_history;

struct nb_buffer_history {
    guint row; /* place in the list of buffers */
    uint32_t number;
    struct nb_moment go;          /* first GO */
    struct nb_moment first_data;  /* first packet of any number */
    struct nb_moment packet_zero; /* first transmission of packet 0 */
    struct nb_moment ldata;       /* first LDATA */
    struct nb_moment first_resend, last_resend;
    struct nb_moment ok;   /* first OK */
    uint16_t ldata_number; /* valid when ldata.frame is set */
    bool last_of_transfer; /* L was set */
    uint32_t resends;      /* different RESEND messages */
    uint32_t lost;         /* packets that they asked for, without those beyond the LDATA (AMB-32) */
    struct nb_message_history *go_message;
    uint32_t transmissions; /* DATA and LDATA packets captured */
    uint32_t retransmitted; /* of these, captured or asked for before */
    uint32_t packets;       /* different packets captured */
    uint64_t bytes;         /* in them */
    uint8_t *seen;          /* [room] by packet number: enum nb_seen */
    uint32_t room;
    GArray *requests; /* uint16_t: packet numbers in the order in which they were asked for; NULL: none */
};

enum nb_seen { NB_SEEN = 1, NB_ASKED = 2 };

struct nb_message_history {
    guint row;   /* place in the list of messages */
    int64_t seq; /* unwrapped */
    uint8_t type;
    uint32_t buffer;
    uint16_t named;          /* RESEND: packets named */
    uint16_t *names;         /* RESEND: their numbers */
    uint32_t times_sent;     /* CONTROL packets captured that hold it */
    uint32_t sent_in_vain;   /* of these, captured after the acknowledgement */
    struct nb_moment first;  /* first CONTROL that holds it */
    struct nb_moment last;   /* last one before the acknowledgement */
    struct nb_moment acked;  /* first packet that acknowledges it */
    struct nb_moment effect; /* GO: first packet of the buffer. RESEND: the last missing one of the named packets */
    uint16_t missing;        /* RESEND: named packets that have not come since */
    uint16_t came;           /* RESEND: named packets that came since */
};

/* A packet that answers another one. */
enum nb_question { NB_ASKED_OPEN, NB_ASKED_GO, NB_ASKED_BUFFER, NB_ASKED_RESEND, NB_ASKED_MESSAGE, NB_QUESTIONS };

struct nb_answer {
    enum nb_question question; /* OPEN: RESPONSE. GO: first packet of its buffer. BUFFER: its OK, since its GO. RESEND:
                                * the last of the packets named. MESSAGE: its acknowledgement. */
    struct nb_moment asked;
};

/* Of a connection, kept up to date packet by packet: dialogs ask after each. */
struct nb_totals {
    uint64_t bytes; /* each packet once */
    uint64_t transmissions, retransmitted, resends, lost;
    uint32_t started;                                                 /* buffers of which a packet was captured */
    uint32_t complete;                                                /* buffers of which all were */
    bool cut;                                                         /* there was no memory for more */
    const struct nb_buffer_history *lowest, *highest, *below_highest; /* by number, of those started; NULL: none */
};

struct nb_offer {
    bool seen;
    uint32_t uid, buffer_size, transfer_size;
    uint16_t packet_size, burst_size, burst_interval_ms, death_timer_s, max_buffers, flags;
};

struct nb_history {
    const struct nb_stream *stream;
    uint32_t index; /* netblt.stream */
    char *address[2];
    uint16_t port[2];
    int sender; /* end that sends data; -1 unknown */
    uint32_t packets, copies, broken_packets;
    uint32_t control_packets;
    struct nb_moment first, last; /* any packet */
    struct nb_moment open, response, done;
    struct nb_moment last_data;             /* first transmission of the newest data packet */
    struct nb_offer offer[2];               /* of OPEN, of RESPONSE */
    uint16_t burst_size, burst_interval_ms; /* newest that an OK gave; 0 until then */
    int64_t acked;                          /* highest acknowledged message, unwrapped; -1 unknown */
    int64_t newest;                         /* highest message captured */
    double quickest_ack; /* seconds from the first sending of a message to its acknowledgement; -1 none yet */
    struct nb_totals totals;
    GPtrArray *buffers;           /* struct nb_buffer_history, in order of first appearance */
    GHashTable *buffer_by_number; /* NULL as long as there are none */
    GPtrArray *messages;          /* struct nb_message_history, in order of first appearance */
    GHashTable *message_by_seq;   /* as above */
    GPtrArray *unacknowledged;    /* of the messages, those not acknowledged; at most NB_WAITING_MOST */
    GPtrArray *unrepaired;        /* of the messages, RESENDs whose packets have not all come; as above */
    GArray *broken;               /* struct nb_rule_history: rules with findings; NULL as long as there are none */
    struct nb_account account;    /* memory.h: when it is exhausted, buffers and messages are not noted any more */
};

/* A rule with findings. */
struct nb_rule_history {
    unsigned rule;            /* enum nb_rule */
    GArray *violations;       /* uint32_t: frames; NULL: none */
    GArray *suspicions;       /* as above */
    const char *offenders[2]; /* "10.0.0.1 receiver", different ones; of the file */
};

/* Unacknowledged messages that a packet is compared with: more than any receiver has, and no flood of forged ones may
 * make each packet take longer. */
enum { NB_WAITING_MOST = 4096 };

/* What a report needs of each connection, beside its packets and findings. */
enum nb_keeping {
    NB_KEEP_NOTHING,
    NB_KEEP_TOTALS, /* also the buffers */
    NB_KEEP_ALL,    /* also the messages */
};

struct nb_histories {
    GPtrArray *list; /* struct nb_history by index */
    GHashTable *by_stream;
    uint32_t newest_frame;
    enum nb_keeping keeping;
    GArray *answers;             /* struct nb_answer, that the last packet gave */
    GPtrArray *touched_buffers;  /* changed by the last packet */
    GPtrArray *touched_messages; /* as above */
};

struct nb_histories *nb_histories_new(enum nb_keeping keeping);
void nb_histories_free(struct nb_histories *all);

/* Back to nothing: the capture is read again. */
void nb_histories_reset(struct nb_histories *all);

/* Takes note of a packet, resetting when the capture starts over; the history it belongs to, NULL when none. */
struct nb_history *nb_histories_note(struct nb_histories *all, const packet_info *pinfo, const struct nb_tap *tap);

/* The findings of a rule; NULL when there are none. */
const struct nb_rule_history *nb_history_rule(const struct nb_history *history, unsigned rule);

/* Why the report does not cover the whole connection, in words: there was no memory. To be freed with g_free; NULL when
 * it does. */
char *nb_history_limit(const struct nb_history *history);

/* "10.0.0.1:1024"; the end is that of the history. To be freed with g_free. */
char *nb_history_end(const struct nb_history *history, int end);

/* What was agreed: the RESPONSE's values, else the OPEN's, else nothing (seen is false). */
const struct nb_offer *nb_history_terms(const struct nb_history *history);

#endif
