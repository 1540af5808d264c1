/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The findings about a packet, and how they are shown. Findings are made on the first pass and kept, so
 * that every later look at the frame shows the same. */
#ifndef NETBLT_FINDINGS_H
#define NETBLT_FINDINGS_H

#include "connection/record.h"

/* What it takes: VIOLATION no loss, reordering, duplication, corruption or capture position explains the packets;
 * SUSPECTED something might; EVENT worth knowing, no fault. */
enum nb_verdict { NB_EVENT, NB_SUSPECTED, NB_VIOLATION };

extern const value_string nb_verdict_names[]; /* of enum nb_verdict, but for NB_EVENT, which is none */

/* NAME, ID, slug, severity, text */
#define NB_EVENT_LIST(X)                                                                                               \
    X(CTRL_TAIL, "CTRL-04", "ctrl_tail", PI_NOTE, "CONTROL ends below the newest unacknowledged message")              \
    X(CTRL_STALE, "CTRL-05", "ctrl_stale", PI_NOTE, "CONTROL repeats acknowledged messages")                           \
    X(CTRL_WAITING, "CTRL-10", "ctrl_waiting", PI_NOTE, "CONTROL is repeated, no acknowledgement was captured")        \
    X(OPEN_AGAIN, "OPEN-03", "open_repeated", PI_NOTE, "OPEN is repeated")                                             \
    X(RESPONSE_AGAIN, "OPEN-08", "response_repeated", PI_NOTE, "RESPONSE is repeated")                                 \
    X(CLIENT_FIELDS, "OPEN-04", "client_fields", PI_NOTE, "A copy of OPEN or RESPONSE has other fields of the client") \
    X(OPEN_LATE, "OPEN-05", "open_after_response", PI_NOTE, "OPEN after the RESPONSE, which may have been lost")       \
    X(OPEN_REFUSED, "OPEN-06", "open_after_refused", PI_NOTE, "OPEN after REFUSED, which may have been lost")          \
    X(BUFFER_STEP, "DATA-06", "buffer_step", PI_NOTE, "GO leaves out buffer numbers")                                  \
    X(LATE_GO, "DATA-10", "go_beyond_last", PI_NOTE, "GO for a buffer beyond the last, which may not be known yet")    \
    X(RATE, "RATE-01", "rate_exceeded", PI_NOTE, "More packets than the pace allows, perhaps compressed on the way")   \
    X(DONE_AGAIN, "CLOSE-06", "done_repeated", PI_NOTE, "DONE is repeated")                                            \
    X(AFTER_DONE, "CLOSE-06", "after_done", PI_CHAT, "Sender's packet after DONE")                                     \
    X(QUIT_EARLY, "QUIT-04", "quit_in_buffer", PI_NOTE, "QUIT while a buffer is being sent")                           \
    X(ABORTED, "ABORT-02", "after_abort", PI_NOTE, "The aborted end continues, the ABORT may have been lost")          \
    X(DEATH, "TIMER-10", "outlived", PI_NOTE, "Silence for longer than the death timer was survived")                  \
    X(OUT_OF_RANGE, "RESEND-05", "resend_beyond", PI_NOTE, "RESEND names packets beyond the LDATA")                    \
    X(LISTED_SEEN, "RESEND-01", "resend_seen", PI_CHAT, "RESEND names packets that passed the capture")                \
    X(DATA_TIMER, "TIMER-09", "timer_early", PI_NOTE, "RESEND before all that it names was due")                       \
    X(UNPACKED, "R1030-01", "ctrl_unpacked", PI_CHAT, "OK without the next GO")                                        \
    X(CHATTY, "R1030-10", "ctrl_chatty", PI_CHAT, "Many CONTROLs per buffer")

enum nb_event_kind {
#define NB_EVENT_NAME(name, id, slug, severity, text) NB_NOTES_##name,
    NB_EVENT_LIST(NB_EVENT_NAME)
#undef NB_EVENT_NAME
        NB_EVENT_KINDS
};

struct nb_finding {
    struct nb_note note;      /* in the notes of its packet */
    uint16_t rule;            /* enum nb_rule; for an event enum nb_event_kind */
    uint8_t verdict;          /* enum nb_verdict */
    const char *text;         /* one sentence with the reason, without the requirement ID */
    const char *offender;     /* "10.0.0.1 receiver"; NULL for events */
    uint32_t offending_frame; /* 0 when it is the frame itself */
    uint32_t request_frame;   /* where the message at stake was captured; 0 when none */
    uint32_t evidence_frame;  /* what else proves it; 0 when none */
    uint32_t proof_frame;     /* a suspicion that was proven later, in this frame: known on later passes only */
};

/* Adds a copy of *finding (file scope) to the record. Its strings must be in file scope. Returns the copy. */
struct nb_finding *nb_add_finding(struct nb_record *record, const struct nb_finding *finding);

/* The first finding among the notes; NULL: there is none. */
static inline struct nb_finding *nb_finding_in(struct nb_note *notes)
{
    while (notes != NULL && notes->kind != NB_NOTE_FINDING) {
        notes = notes->next;
    }
    return (struct nb_finding *)notes;
}

/* The one after it; NULL: there is none. */
static inline struct nb_finding *nb_next_finding(const struct nb_finding *finding)
{
    return nb_finding_in(finding->note.next);
}

#endif
