/* SPDX-License-Identifier: BSD-2-Clause */
/* netblt send and recv: one transfer, or the several that the steps, parts and attempts of a tree transfer take. */
#ifndef NETBLT_CLI_SESSION_H
#define NETBLT_CLI_SESSION_H

#include <sys/queue.h>

#include "cli/path_memory/carried_rate.h"
#include "cli/path_memory/path_memory.h"
#include "cli/report/report.h"
#include "cli/session/schedule.h"
#include "cli/session/session_files.h"
#include "cli/session/step_data.h"
#include "cli/session/step_name.h"
#include "cli/transfer/transfer.h"

/* session.c         the command: its start, its rounds, its end
 * session_files.c   what is sent or stored; dest.c: where
 * settle.c          from one transfer to the next
 * step.c            one transfer: its data, and what its end means for the session
 * only_place.c      a passive end: peers that may be the right one
 * retry.c           what passes, and when to try again
 * windows.c         --schedule; schedule.c: its windows
 * path_notes.c      what its transfers show of the path
 * session_report.c  progress, summary, JSON */

typedef struct session session;

/* One NETBLT transfer of the session. */
typedef struct step {
    transfer work; /* first: the context of the core's client */
    session *all;
    LIST_ENTRY(step) entry;
    step_name what;
    tree_reader_args reading; /* of work.from, in a tree transfer */
    held_inbox inbox;         /* sender, STEP_HELD */
    uint64_t first_bytes;     /* passive: that the buffers of an unvalidated peer may take */
    carried_samples carried;
    netblt_time shortest_round_trip_us; /* 0: not known */
    bool begun;                         /* has source or sink */
    bool settled;                       /* was looked at after its end */
} step;

/* Figures of all transfers of the session. */
typedef struct session_totals {
    unsigned transfers;
    uint64_t lost_bytes; /* of attempts that failed, as far as they were confirmed (sender) */
    uint64_t packets_sent;
    uint64_t packets_received;
    uint64_t packets_retransmitted;
    uint64_t packets_duplicate;
    uint64_t resends_sent;
    uint64_t data_timeouts;
    uint64_t wire_bytes;
    netblt_time started_at;
    netblt_time first_data_at; /* 0: none */
} session_totals;

/* ---- retry.c */
typedef struct retry_state {
    uint64_t allowed_s;  /* 0: no second attempt; RETRY_FOREVER */
    netblt_time lost_at; /* since when nothing moves; 0: it does */
    netblt_time try_at;  /* when to try again; 0: now, or not waiting */
    unsigned attempts;   /* since then */
} retry_state;

/* Whether an end of this kind can be a passing one. */
bool retry_is_temporary(const transfer *work);
/* An attempt has failed: when to try again. False: the time is over. */
bool retry_wait(retry_state *retry, netblt_time now);
/* Data move. */
void retry_moves(retry_state *retry);

/* ---- the session */
struct session {
    const options *given;
    station net;
    netblt_failure failure; /* what ended it outside of a transfer */
    session_files files;
    netblt_client client; /* of all its transfers */
    path_memory paths;    /* active */
    LIST_HEAD(step_list, step) steps;
    step *current;       /* the one that moves data; passive: that has the place; NULL: none */
    step *last;          /* whose end the summary reports; stays in `steps` */
    step_name next;      /* active: what the next one does */
    bool over;           /* nothing more is begun */
    bool done;           /* all is sent or stored */
    unsigned refusals;   /* in a row, of a peer that was busy */
    unsigned idle_steps; /* in a row, without data */
    bool resumed;        /* something was held */
    retry_state retry;
    schedule windows;
    int64_t window_told; /* the opening that was reported; 0: none */
    bool interrupted;
    bool is_continued;           /* passive: a peer has begun, and goes on */
    netblt_address peer;         /* ... this one */
    netblt_time continued_until; /* ... by then */
    uint64_t first_bytes;        /* passive: of all unvalidated peers */
    session_totals totals;
    uint32_t shown_files; /* that progress counts */
};

/* Prints what there is to print and returns the exit code. */
enum exit_code command_session(const options *given);

/* ---- settle.c */
/* session.current is settled: decides what follows it, and when. */
void settle_current(session *all);
/* The summary reports of this step; the one before it is not needed any more. */
void settle_keep(session *all, step *one);
/* --retry: the next attempt begins at step 1, where shows what is held. False: there is none. */
bool settle_try_again(session *all, netblt_time now);
/* Once for each loss. */
void settle_tell(const session *all, const char *reason);

/* ---- step.c */
/* A step of the session, in its list. NULL when memory is short. */
step *step_new(session *all, const step_name *what);
/* Not while it has a connection. */
void step_free(step *one);
/* The peer is there, and the step is the session's current one: gives the transfer its source or sink, or ends it. */
void step_begin(step *one);
/* In each round. */
void step_tend(step *one);
/* The transfer has ended, and source and sink are done. */
bool step_is_settled(const step *one);

/* The transfer was aborted, by either end, with this reason of step_name.h. */
bool step_was_ended_with(const step *one, const char *reason);

/* What comes after a step. */
enum step_verdict {
    STEP_GOES_ON, /* session.next */
    STEP_IS_LAST, /* all is sent or stored */
    STEP_FAILED,
};
/* Of a settled step; closes its source and sink. */
enum step_verdict step_end(step *one);

/* ---- windows.c: all of it counts for an active end with --schedule only */
/* 0, or -1 with *failure. */
int windows_read(session *all, netblt_failure *failure);
bool windows_are_open(const session *all);
/* When that may have changed. */
netblt_time windows_look_again(const session *all);
/* They are closed: sets the moment of the next attempt. 0, or -1 with *failure: no window is left. */
int windows_wait(session *all, netblt_failure *failure);

/* ---- path_notes.c */
/* A buffer of the step was confirmed, or delivered. */
void path_notes_buffer(step *one, netblt_connection *connection);
/* The step is settled. */
void path_notes_settle(session *all, const step *one);
/* For the proposal of a step; NULL: nothing is known. */
const known_path *path_notes_for(const session *all, const step *one);

/* ---- only_place.c: the one place of a passive end */
void only_place_init(session *all);
/* netblt_accept_fn; `context` is the session. */
void only_place_accept(void *context, const netblt_request *request, netblt_answer *answer);
/* Gives the place to the only peer there is, validated or not: the command is to end, and that peer is to know. */
void only_place_settle(session *all);

/* ---- session_report.c */
void session_count(session *all, const step *one);
void session_show_progress(session *all);
enum exit_code session_report(session *all);

#endif
