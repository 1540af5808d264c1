/* SPDX-License-Identifier: BSD-2-Clause */
/* netblt listen: many transfers in both directions, and what their parts share. */
#ifndef NETBLT_CLI_SERVE_H
#define NETBLT_CLI_SERVE_H

#include <sys/queue.h>

#include "cli/listen/buffer_budget.h"
#include "cli/listen/held_cache.h"
#include "cli/listen/lookup.h"
#include "cli/listen/name_locks.h"
#include "cli/listen/reservations.h"
#include "cli/listen/tally.h"
#include "cli/session/step_data.h"
#include "cli/transfer/transfer.h"

/* serve.c          the command
 * served.c         one connection: its file, and memory for its buffers
 * served_step.c    the same for a step of a tree transfer (docs/tree-transfer.md)
 * served_end.c     the end of a connection
 * serve_accept.c   the answer to an OPEN
 * serve_places.c   who gets one of the places of --max-connections, and who loses it
 * serve_report.c   a line for each transfer
 *
 * Any host can forge an OPEN. Until the peer is validated (netblt_client.validated) its connection has no place, no
 * file descriptor, no temporary file and no lock on a name, and accepting it takes a time that does not grow with the
 * number of connections. */

typedef struct serve serve;

/* What is limited: transfers that store under names that overlap, those of one address, of one network, and all. Who
 * gives a place back to one of the last three does so to those below. */
enum served_scope { SCOPE_NAME, SCOPE_ADDRESS, SCOPE_PREFIX, SCOPE_ALL, SCOPES };

/* What a connection is for. The last two are step 3 of a tree transfer, in the direction opposite to its files. */
enum served_task {
    TASK_SEND,
    TASK_STORE,
    TASK_SEND_HELD, /* of files that are stored here */
    TASK_TAKE_HELD, /* of files that are sent from here */
};

typedef struct served {
    transfer work; /* first: the context of the core's client */
    serve *server;
    LIST_ENTRY(served) place; /* in one of the server's lists */
    SLIST_ENTRY(served) marked_place;
    bool marked; /* is in server->marked */

    netblt_address foreign;
    char peer[NETBLT_ADDRESS_TEXT_BYTES]; /* these two: only after served_describe() */
    char printable[NETBLT_STRING_MAX_BYTES + 1];
    step_name step; /* what the peer asks for; its name as the peer said it */
    enum served_task task;
    uint64_t size;   /* sending: bytes of the file, as promised in RESPONSE */
    char *real_name; /* receiving: where the data go (tree_real_name()) */

    /* Of a tree transfer. */
    tree_store *store; /* TASK_STORE */
    list_claim claim;  /* memory for the lists of the store, or for the inbox */
    uint64_t entries;  /* these two: of the manifest, as far as it was checked */
    uint64_t hole_pieces;
    held_inbox inbox;    /* TASK_TAKE_HELD */
    lookup *looking;     /* TASK_SEND, TASK_SEND_HELD: what makes the source */
    bool was_waited_for; /* see serve_find_ended() */
    bool settled;        /* see served_settle() */
    bool went_on;        /* these two: once the step has ended. It was one of several */
    bool keeps_name;     /* ... and its name is kept for its host */
    bool was_answered;   /* it needs another step first, and the peer has that reply */
    reserved_past past;  /* what the steps before have done */

    bool validated;     /* in server->validated, not in server->unvalidated */
    bool refused;       /* had no place when it was validated */
    bool gave_way;      /* its place went to another peer */
    bool holds[SCOPES]; /* counts against the limits */
    buffer_claim buffers;
    uint64_t progress;       /* see serve_places.c */
    netblt_time progress_at; /* when it last grew, as far as is known */
    netblt_time claimed_at;  /* its host wanted its name again, perhaps because it was lost; 0: no */
    uint64_t claimed_progress;
    progress_meter meter; /* of --json-progress */
} served;

typedef LIST_HEAD(served_list, served) served_list;

struct serve {
    const options *given;
    station net;
    netblt_failure failure;
    netblt_client client; /* of all its connections */
    int root;
    served_list unvalidated;
    served_list validated;
    SLIST_HEAD(, served) marked; /* unvalidated connections that something happened to */

    tally held;       /* by validated peers in each scope but SCOPE_NAME */
    name_locks names; /* that validated peers store under */
    reservation_list reserved;
    jobs work;         /* walks of directories and the like */
    list_memory lists; /* manifests and held lists */
    held_cache held_lists;
    netblt_time looked_at;  /* when progress was last measured */
    netblt_time slowest_at; /* then: progress_at of the one that has made none for longest */

    buffer_budget buffers;

    netblt_time refusals_counted_from;
    unsigned refusals;      /* reported since */
    unsigned unreported;    /* refused or never validated, and not reported one by one */
    netblt_time summary_at; /* when these are */
    netblt_time objects_at; /* when --json-progress is due; 0 = not yet known */
    bool output_failed;     /* stdout takes no more, which was reported */
};

/* ---- serve.c */
/* Prints what there is to print and returns the exit code. */
enum exit_code command_serve(const options *given);

/* ---- served.c */
/* Something happened to this connection: it is looked at in the next round. */
void served_mark(served *one);
/* Fills `peer` and `printable`. */
void served_describe(served *one);
/* Opens the file that is to be sent. False with transfer.failure. */
bool served_open_source(served *one);
/* Opens the file that is to be stored. NULL, or why not. */
const char *served_open_sink(served *one);
/* Lowers `limits` to what is left for another peer, and counts it. */
void served_take_memory(served *one, netblt_params *limits);

/* ---- served_step.c */
/* Its data are those of a step of a tree transfer. The peer may have requested one and got none: see served_begin_step.
 */
bool served_is_step(const served *one);
/* The peer is validated: opens what the step needs, or begins to. NULL, or why not. */
const char *served_begin_step(served *one);
/* In each round after transfer_tend(). */
void served_follow_step(served *one);
/* It has ended, and its sink is not closed yet: sets `went_on` and `keeps_name`. */
void served_note_end(served *one);
/* The source or sink is closed. Adds to `past`. */
void served_end_step(served *one);
/* Adds what the tree transfer came to. */
void served_sum_up(const served *one, summary *end);
/* The step has ended as steps do that are followed by another one. */
bool served_goes_on(const served *one);
/* The step has ended, and nothing on disk is open for it. */
bool served_needs_no_name(const served *one);

/* ---- served_end.c */
/* Gives everything back that it holds. */
void served_free(served *one);
/* The same after a report, of a connection of which nothing is left to do (transfer_is_over()). */
void served_end(served *one);
/* A transfer that received has ended, and the disk is done with it: reports it and gives its name back, while the core
 * may still reply to repeated packets. Nothing happens before. */
void served_settle(served *one);

/* ---- serve_accept.c */
void serve_accept(void *context, const netblt_request *request, netblt_answer *answer);

/* ---- serve_places.c */
/* Whether a peer would get a place now, and the name that it wants to store under. NULL, or why not. Nothing changes:
 * the peer may be forged. */
const char *serve_object(serve *server, const served *one);
/* Whether the name is held by a transfer that is just ending, or by one of the same host that may have been lost. */
bool serve_lets_wait(serve *server, const served *one);
/* A transfer that keeps `one` from its name, and that can be settled. NULL: there is none. */
served *serve_find_ended(const serve *server, const served *one);
/* netblt_client.validated: gives a place or aborts. */
void served_validated(served *one);
/* The transfer has ended. */
void served_give_place_back(served *one);
void served_give_name_back(served *one);
/* Measures progress, and ends what has made none for too long. Returns when to call it again. */
netblt_time serve_watch_progress(serve *server, netblt_time now);

/* ---- serve_report.c */
void serve_report(serve *server, served *one);
void serve_report_refusal(serve *server, served *one, const char *reason);
/* From time to time: how many were not reported one by one. Returns when to call it again. */
netblt_time serve_report_rest(serve *server, netblt_time now);
/* With --json-progress, each second: an object for each transfer of a validated peer. Returns when to call it
 * again; NEVER while there is no transfer. */
netblt_time serve_report_progress(serve *server, netblt_time now);

#endif
