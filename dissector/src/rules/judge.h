/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How the rules report: passed, suspected, or a violation that is proven now or by later packets. */
#ifndef NETBLT_JUDGE_H
#define NETBLT_JUDGE_H

#include "connection/event.h"
#include "rules/findings.h"
#include "rules/verdicts.h"

/* Packets that a claim waits for: one that escaped the capture would have to overtake them. */
enum { NB_PACKETS_TO_PROVE = 4 };

/* To be called once when the protocol is registered. */
void nb_register_judge(void);

/* What was missing when a claim was made. If it turns up while the claim waits, it may have been emitted before: the
 * capture may put the directions together out of step, and a copy may have escaped it. */
enum nb_absent {
    NB_ABSENT_NOTHING,
    NB_ABSENT_MESSAGE,
    NB_ABSENT_GO,
    NB_ABSENT_PACKETS,
    NB_ABSENT_ACK,
    NB_ABSENT_LAST,
    NB_ABSENT_OK /* of any buffer: absent_number is how many were captured */
};

/* What a packet is suspected of. */
struct nb_charge {
    enum nb_rule rule;
    int offender;             /* end */
    bool alone;               /* the packet proves it by itself, with nothing of the connection captured */
    const char *excuse;       /* what may explain the packets (file scope or static); NULL: nothing */
    bool unseen;              /* the excuse is a packet that escaped the capture */
    unsigned forgiven;        /* enum nb_doubt that this suspicion need not heed */
    uint32_t offending_frame; /* 0: this frame */
    uint32_t request_frame;   /* where the message at stake was captured */
    uint32_t evidence_frame;
    enum nb_absent absent;
    int64_t absent_number;        /* of the message or buffer */
    int64_t answered_seq;         /* first message in the packet: who acknowledges it has got the packet; 0 none */
    struct nb_finding *suspicion; /* reported before; learns where it was proven */
    uint32_t suspected_key;       /* the same by the record's ordinal + 1, when there is no pointer */
};

/* The rule was put to the test and kept. This and what follows drops reports of a rule that does not hold in the
 * dialect of the connection. */
void nb_keep(const struct nb_event *event, enum nb_rule rule);

/* Reports a violation when nothing excuses it and the capture shows the whole story, else a suspicion with the reason.
 * The text is one sentence without the requirement ID. Returns what was reported; NULL: nothing. */
struct nb_finding *nb_blame(const struct nb_event *event, const struct nb_charge *charge, const char *format, ...)
    G_GNUC_PRINTF(3, 4);

/* Suspects the packet now, and reports the violation when `packets` more packets of end `watched` have been captured
 * without one missing, late or twice, and this end has answered the packet or a second has passed: then nothing that it
 * had emitted can have escaped the capture, or be captured out of step. With `packets` 0 as soon as the capture shows
 * the whole story (OPEN and RESPONSE). The excuse of the suspicion states what is unsure until then. */
void nb_await(const struct nb_event *event, const struct nb_charge *charge, int watched, unsigned packets,
              const char *format, ...) G_GNUC_PRINTF(5, 6);

/* To be called for each packet that is no copy, after everything else. */
void nb_settle(const struct nb_event *event);

/* A message was captured after its acknowledgement. */
void nb_turned_up(const struct nb_event *event, int64_t seq);

/* Everything that will be known of a buffer is known. */
void nb_buffer_leaves(const struct nb_event *event, const struct nb_buffer *buffer);

/* Worth knowing, no fault. */
void nb_remark(const struct nb_event *event, enum nb_event_kind kind, const char *format, ...) G_GNUC_PRINTF(3, 4);

/* RFC 1986 lets the sender send packets again without being asked (R1986-13): the first copy that was captured of a
 * packet may be a later one. */
bool nb_may_repeat_unasked(const struct nb_stream *stream);

/* Every packet that this end emitted since it opened the connection was captured, in order and once. */
bool nb_is_unbroken(const struct nb_stream *stream, int end);

/* A packet of this end is missing neither in the capture nor before it. */
bool nb_shows_all_of(const struct nb_stream *stream, int end);

/* The capture begins with the connection, and holds no part of a CONTROL only: a GO that it lacks is missing. */
bool nb_shows_first_messages(const struct nb_stream *stream);

/* The packet was emitted after the marked one, by the same end: proven. */
bool nb_proven_after(const struct nb_event *event, const struct nb_mark *mark);

/* The order of the packets inside one datagram is that in which they arrived where it was put together: it proves
 * nothing about their emission. */
bool nb_is_apart(const struct nb_event *event, uint32_t frame);

#endif
