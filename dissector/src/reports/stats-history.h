/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The connections that a listener has seen. What happened in them is in the model (connection/stream.h); here is
 * what the listener's filter decides: which connections, which of their packets and findings. Buffers, messages and
 * totals are those of the whole connection. */
#ifndef NETBLT_STATS_HISTORY_H
#define NETBLT_STATS_HISTORY_H

#include "reports/tap.h"
#include "rules/verdicts.h"
#include "wireshark/memory.h"

struct nb_history {
    const struct nb_stream *stream;
    uint32_t packets, copies, broken_packets; /* that the listener saw */
    double first_s, last_s;                   /* the first and the last of them; s since the first frame of the file */
    GArray *broken;                           /* struct nb_rule_history: rules with findings; NULL: none */
    GPtrArray *buffers;                       /* const struct nb_buffer_life: nb_history_buffers */
    GPtrArray *messages;                      /* const struct nb_message_life: nb_history_messages */
    struct nb_account account;                /* memory.h */
};

/* A rule with findings. */
struct nb_rule_history {
    unsigned rule;            /* enum nb_rule */
    GArray *violations;       /* uint32_t: frames; NULL: none */
    GArray *suspicions;       /* as above */
    const char *offenders[2]; /* "10.0.0.1 receiver", different ones; of the file */
};

struct nb_histories {
    GPtrArray *list; /* struct nb_history in the order of their first packets */
    GHashTable *by_stream;
    uint32_t newest_frame;
};

struct nb_histories *nb_histories_new(void);
void nb_histories_free(struct nb_histories *all);

/* Back to nothing: the capture is read again. */
void nb_histories_reset(struct nb_histories *all);

/* Takes note of a packet, resetting when the capture starts over; the history it belongs to, NULL when none. */
struct nb_history *nb_histories_note(struct nb_histories *all, const packet_info *pinfo, const struct nb_tap *tap);

/* The findings of a rule; NULL when there are none. */
const struct nb_rule_history *nb_history_rule(const struct nb_history *history, unsigned rule);

/* Why the report does not cover the whole connection, as text: there was no memory. To be freed with g_free; NULL when
 * it does. */
char *nb_history_limit(const struct nb_history *history);

/* "10.0.0.1:1024". To be freed with g_free. */
char *nb_stream_end_text(const struct nb_stream *stream, int end);

/* All buffers (struct nb_buffer_life) and messages (struct nb_message_life) of the connection in the order in which
 * they appeared. The history owns the list; it is valid until the next call. */
const GPtrArray *nb_history_buffers(struct nb_history *history);
const GPtrArray *nb_history_messages(struct nb_history *history);

/* The first OPEN, RESPONSE, DONE ... of either end; 0: none. */
nb_moment nb_first_of_type(const struct nb_stream *stream, uint8_t type);

/* What was agreed: the RESPONSE, else the OPEN, else nothing (frame is 0). */
const struct nb_terms *nb_agreed_terms(const struct nb_stream *stream);

/* What a message of the model caused. */
struct nb_effect {
    nb_moment moment; /* GO: first packet of the buffer. RESEND: the newest of the packets that it names; 0: none yet */
    bool known;       /* RESEND: the following are valid */
    uint16_t named;   /* packets */
    uint16_t came;    /* of these, since */
};

struct nb_effect nb_effect_of(const struct nb_stream *stream, const struct nb_message_life *message);

/* How often the message was sent after its acknowledgement. */
uint32_t nb_sent_in_vain(const struct nb_message_life *message);

/* The unwrapped sequence number of a message of this connection. */
int64_t nb_seq_of(const struct nb_stream *stream, const struct nb_message_life *message);

/* The messages that this packet acknowledges first: *first .. end - 1 in numbers of the model. */
void nb_acknowledged_by(const struct nb_stream *stream, nb_moment moment, int64_t *first, int64_t *end);

#endif
