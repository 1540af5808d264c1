/* SPDX-License-Identifier: BSD-2-Clause */
/* What the fuzz targets know of an endpoint under test and of each of its connections. */
#ifndef NETBLT_FUZZ_STATE_H
#define NETBLT_FUZZ_STATE_H

#include "fuzz.h"
#include "guarded.h"
#include "memory.h"
#include "pace.h"
#include "unvalidated.h"
#include "view.h"

#include <netblt/netblt.h>

struct station;

/* What a fuzz target promises of the peer and the network, and so what may be demanded of the endpoint. */
struct expectations {
    bool peer_is_ours;    /* no packet is forged: only lost, repeated, delayed or visibly damaged */
    bool drained_at_once; /* packets leave as soon as they may */
};

/* A valid DATA or LDATA that arrived. */
struct arrival {
    struct arrival *next;
    bool ldata, last_buffer;
    unsigned length;
    uint8_t data[];
};

enum { MARK_SENT = 1, MARK_ASKED = 2, MARK_SKIPPED = 4, MARK_NAMED = 8 };

struct model_buffer {
    uint8_t *memory; /* ours; the core has it while `held` */
    bool held;
    /* sending */
    uint32_t length;
    bool last;
    bool numbered; /* the first packet has left, under `number` */
    uint32_t number;
    uint32_t packets, next_new;
    uint8_t *marks;      /* MARK_..., of each packet */
    uint32_t sent;       /* packets that have left */
    uint32_t withheld;   /* packets that may be withheld from an unvalidated peer */
    uint32_t skipped;    /* packets that were */
    unsigned late_skips; /* times that packets were, after the peer was validated */
    uint32_t named;      /* packets but the first that RESENDs have named */
    double chance;       /* of naming all withheld ones so far by chance; 0 = not all were named */
    bool ok_arrived;     /* after all packets had left */
    bool released;
    /* receiving */
    struct arrival **arrivals; /* lists, by packet number */
    bool last_flag_arrived;
    bool complete; /* has been seen to be */
    bool delivered;
};

struct emitted_message {
    unsigned type, count;
    uint32_t buffer;
};

/* One connection: what its client and its packets have shown. */
struct model {
    struct station *station;
    uint8_t host; /* last byte of the peer's address */
    uint16_t local_port, foreign_port;
    uint8_t salt;                /* of the bytes that our client sends */
    unsigned longest_open_bytes; /* OPEN that this host has sent */

    netblt_connection *connection;
    bool begun, passive, is_open;
    bool reopened; /* by a copy of the OPEN of the connection before, which ended without success */
    int finished;
    enum netblt_result result;
    netblt_info info; /* as of `opened` */
    bool quit_called, abort_called;
    netblt_time quit_called_at, valid_at;
    struct guarded_ends ends;   /* what has arrived of ABORT, QUIT and REFUSED */
    struct guarded_token token; /* of the RESPONSE */
    bool earlier_words_wait;    /* last packets of the connection before may still leave */
    bool unreachable;           /* the network has reported it */

    struct model_buffer *buffers; /* that the client had to supply */
    size_t buffer_count, buffer_room;
    uint32_t packets_per_buffer;
    uint64_t payload_bytes;
    bool any_order, confirm_end;

    /* sending */
    size_t numbered_count;
    size_t unfinished_from; /* all buffers below were released */
    uint32_t *gos;
    size_t go_count, go_room;
    uint64_t seq_arrived[1024]; /* a bit for each control sequence number */
    uint16_t seq_high;          /* all numbers up to it arrived */
    uint16_t seq_claimed;       /* highest that was acknowledged */
    struct pace pace;
    size_t unjustified_releases;
    uint64_t started_bytes; /* of all buffers so far, in packets */
    bool named_early;       /* a RESEND has named packets of a buffer that has not begun */
    bool quit_has_left;

    /* receiving */
    uint64_t next_delivery;           /* buffers that were delivered */
    size_t all_complete_below;        /* no buffer below is outstanding */
    struct emitted_message *messages; /* number 1 and up, in order */
    size_t message_count, message_room;
    size_t messages_acked;
    bool last_was_delivered;
    uint64_t last_index;
    bool base_known; /* number of the first buffer: with a secret the first GO states it */
    uint32_t base;
    size_t asked_for; /* buffers that DATA may name */
    size_t oks;       /* buffers that got their OK */
    bool completed, confirmed;

    bool evidence;         /* the peer has named what it can only know from packets of ours */
    bool validated;        /* the endpoint has said so */
    uint64_t credit_bytes; /* what the peer has paid for and was not sent */
};

enum {
    STATION_HOSTS_MAX = 3,
    STATION_HELD_MAX = 256, /* buffers that a client lends to the core at a time */
    STATION_CLOSED_MAX = 64,
};

/* A transfer that ended well: a late copy of its OPEN must not start it again. */
struct closed_transfer {
    uint8_t host;
    uint16_t foreign_port;
    uint32_t unique_id;
    netblt_time at;
    uint64_t number; /* of passive connections that ended before */
};

/* What our listener does with an OPEN. */
enum listener_policy {
    POLICY_ACCEPT,
    POLICY_REFUSE,           /* without a reason */
    POLICY_REFUSE_AT_LENGTH, /* with a reason that is too long for most OPENs */
    POLICY_IGNORE,
    POLICY_BAD_LIMITS, /* accepts with limits that the core must refuse */
    POLICY_BAD_CLIENT, /* accepts with a client that cannot play its role */
    POLICIES,
};

/* An endpoint under test with the models of its connections. */
struct station {
    /* set before station_start() */
    netblt_config config;
    netblt_params limits; /* of proposals and of the listener */
    netblt_options options;
    bool observed; /* an event callback looks on */
    struct expectations expect;
    uint8_t address; /* last byte of ours */
    uint64_t buffers_to_send;
    unsigned last_buffer_per_256; /* share of a buffer that the last one fills */
    struct model *partner;        /* NULL, or the peer's model when it is ours too */
    void (*sent)(void *context, struct model *model, const uint8_t *packet, size_t size);
    void *context;

    enum listener_policy policy;
    bool memory_was_short; /* fuzz_memory_fails() was called */

    netblt_endpoint *endpoint;
    netblt_time now;
    struct model hosts[STATION_HOSTS_MAX];
    uint8_t stall_every; /* every so manieth request of the core for a buffer is put off; 0 = none */
    uint8_t requests;
    unsigned held;
    unsigned open_connections;
    uint64_t callbacks; /* so far */
    const struct view *arriving;
    struct model *arriving_from;
    struct unvalidated_limits limits_unvalidated;
    struct unvalidated_allowance replies, bytes_sent;
    struct closed_transfer closed[STATION_CLOSED_MAX];
    uint64_t passive_closed, well_closed;
};

#endif
