/* SPDX-License-Identifier: BSD-2-Clause */
/* One connection: what it remembers, and what both roles and all stages share. Set-up is in open.c, the ends are in
 * close.c, the data phase in sender*.c and receiver*.c. */
#ifndef NETBLT_CORE_CONNECTION_H
#define NETBLT_CORE_CONNECTION_H

#include "base/deadlines.h"
#include "base/list.h"
#include "connection/receiver_state.h"
#include "connection/sender_state.h"
#include "wire/wire.h"

#include <netblt/endpoint.h>

/* Packets that are to leave as soon as possible, in the order in which they leave. DATA is not among them. */
enum nb_owed {
    NB_OWED_OPEN = 1 << 0,
    NB_OWED_RESPONSE = 1 << 1,
    NB_OWED_QUITACK = 1 << 2,
    NB_OWED_QUIT = 1 << 3,
    NB_OWED_CONTROL = 1 << 4,
    NB_OWED_NULL_ACK = 1 << 5,
    NB_OWED_KEEPALIVE = 1 << 6,
};

/* The peer of a passive end before it has shown that packets reach it (validation.h). */
struct nb_unvalidated {
    struct nb_link listed;  /* among the endpoint's unvalidated connections; without it the rest has no meaning */
    bool talks;             /* it has sent more than OPENs */
    uint64_t credit_bytes;  /* of its own: three times what was received, less what was sent */
    uint64_t started_bytes; /* of the buffers that were started, in packets */
    double chance;          /* that the RESENDs so far named the withheld packets by chance */
};

/* An ABORT, QUIT or REFUSED that is not believed yet (pending_end.h). */
struct nb_pending_end {
    bool waiting;
    bool quiet;   /* nothing is sent meanwhile */
    bool refuted; /* packets have shown once already that such a packet was forged */
    enum nb_type type;
    netblt_time listen_from; /* packets before may have been under way when the peer ended the connection */
    netblt_time until;       /* NETBLT_TIME_NEVER when nothing is waited for */
    char reason[NETBLT_STRING_MAX_BYTES + 1]; /* of the newest such packet */
};

struct netblt_connection {
    netblt_endpoint *endpoint;
    const netblt_allocator *allocator; /* of the endpoint */
    struct nb_link in_bucket;          /* of the hash table (demux.h) */
    struct nb_deadline deadline;
    struct nb_link ready;  /* among the connections with packets to send */
    struct nb_link marked; /* among those that something happened to, or that have closed */

    netblt_path path;
    uint8_t version; /* of every packet we send: our own, or that of the OPEN that we accepted (AMB-01) */
    uint16_t local_port;
    uint16_t foreign_port;
    uint32_t unique_id;
    enum netblt_state state;
    enum netblt_role role;
    bool active;
    bool started;         /* the role's half below is in use */
    netblt_params own;    /* active: the proposal; passive: the limits */
    netblt_params agreed; /* negotiated, with this end's own death timer and client string */
    uint16_t peer_death_timer_s;
    char peer_string[NETBLT_STRING_MAX_BYTES + 1];

    struct nb_unvalidated unvalidated; /* passive: an unvalidated peer */
    uint16_t response_room;            /* passive: Length of the newest OPEN, which bounds the RESPONSE */
    bool guarded;                      /* both ends know guard.h */
    uint64_t token;                    /* guarded: that of RESPONSE */
    unsigned features;                 /* guarded: NETBLT_CLIENT_ of both ends */
    struct nb_pending_end pending_end;

    const netblt_client *client; /* own_client */
    netblt_client own_client;    /* what the program passed, as this library knows the structure */
    void *context;
    netblt_options options;

    unsigned owed;             /* enum nb_owed */
    unsigned open_attempts;    /* OPENs sent */
    netblt_time open_wait_us;  /* doubles */
    netblt_time open_retry_at; /* these four: NETBLT_TIME_NEVER when not running */
    netblt_time dally_until;
    netblt_time quit_retry_at;
    netblt_time quit_wait_us; /* to an unvalidated peer it doubles */
    netblt_time quit_seen_at; /* the newest QUIT of the peer, and the longest time between two */
    netblt_time quit_interval_us;
    netblt_time quit_latest_at; /* a wanted QUIT no longer waits for a buffer boundary (AMB-56) */
    netblt_time open_first_at;  /* the first OPEN */
    netblt_time open_sent_at;   /* the newest */
    netblt_time received_at;    /* last valid packet: the death timer counts from here */
    netblt_time sent_at;        /* last transmission: KEEPALIVE counts from here (AMB-51) */

    bool death_timer_ended;                   /* the observer knows that it no longer runs */
    bool keepalive_runs;                      /* as the observer knows */
    bool transfers;                           /* a packet of the data phase has arrived */
    bool validated;                           /* passive: the peer has shown that our packets reach it */
    bool finished;                            /* the client knows the outcome */
    bool succeeded;                           /* which is NETBLT_DONE */
    bool quit_dally;                          /* dallying because a QUIT was acknowledged (QUIT-03) */
    bool quit_wanted;                         /* netblt_quit() was called and QUIT has not left yet */
    char reason[NETBLT_STRING_MAX_BYTES + 1]; /* of our QUIT */

    netblt_stats stats;
    union {
        struct nb_sender sender;
        struct nb_receiver receiver;
    };
};

/* Whether data may flow: open, not quitting. */
static inline bool nb_connection_transfers(const netblt_connection *connection)
{
    return connection->state == NETBLT_STATE_OPEN;
}

/* Packets a second that this end's client allows at most: netblt_options.rate_limit_bps. */
double nb_connection_rate_limit(const netblt_connection *connection);
struct nb_emitter nb_connection_emitter(const netblt_connection *connection);

#endif
