/* SPDX-License-Identifier: BSD-2-Clause */
/* The interface of a rate controller: the table of functions that it provides. rate_control.h calls them. */
#ifndef NETBLT_CORE_RATE_INTERFACE_H
#define NETBLT_CORE_RATE_INTERFACE_H

#include "rate/pacing.h"

#include <netblt/types.h>
#include <stdbool.h>
#include <stdint.h>

/* The place of a DATA packet among those that the sender had sent. */
enum nb_rate_arrival {
    NB_RATE_FRESH,     /* first transmission */
    NB_RATE_REQUESTED, /* beyond all that arrived, and named in a RESEND: the first transmission was lost */
    NB_RATE_LATE,      /* counted as missing before: reordered */
    NB_RATE_REPEAT,    /* retransmission or duplicate */
};

/* A DATA or LDATA packet. */
struct nb_rate_packet {
    enum nb_rate_arrival kind;
    uint32_t gap;    /* FRESH, REQUESTED: packets before it that were sent and have not arrived */
    bool new_buffer; /* FRESH, REQUESTED: the first one of its buffer that arrived */
};

/* What a controller knows at the begin. */
struct nb_rate_setup {
    struct nb_burst negotiated;
    uint32_t buffer_packets;  /* in a full buffer */
    double limit_rate;        /* packets a second: this end offers no more */
    bool negotiated_is_known; /* an earlier transfer has shown that the path carries the negotiated pair */
    uint32_t seed;            /* differs for connections that share a path */
};

/* The limits of a sender. */
struct nb_rate_limits {
    struct nb_burst pair; /* no larger bursts, no shorter interval */
    double packets_per_s;
};

struct nb_rate_report {
    double packets_per_s; /* measured for the newest offer; 0 = nothing was measured */
    const char *why;      /* of the newest decision; a string that lasts, NULL = none */
};

/* `state`: the controller's memory for one connection (union nb_rate_memory). A function with the comment "may be NULL"
 * is not needed by every controller. Times are microseconds. */
struct nb_rate_controller {
    const char *name;

    /* The receiver. */
    void (*begin)(void *state, const struct nb_rate_setup *setup);
    /* The pair for the OK with sequence number `seq`. */
    struct nb_burst (*offer)(void *state, uint16_t seq, netblt_time now);
    /* The pair that the sender uses now. */
    struct nb_burst (*in_force)(const void *state);
    /* How many buffers should be outstanding, at most `most`. May be NULL: `most`. */
    unsigned (*credit)(const void *state, unsigned most);
    /* Whether buffer `next` may be requested while buffer `begun` arrives. May be NULL: true. */
    bool (*window_allows)(const void *state, uint64_t begun, uint64_t next);
    /* May be NULL: nothing is reported. */
    struct nb_rate_report (*report)(const void *state);
    /* What arrives; each may be NULL. */
    void (*arrival)(void *state, const struct nb_rate_packet *packet, netblt_time now);
    void (*acked)(void *state, uint16_t ack);
    void (*null_ack)(void *state, uint16_t ack, struct nb_burst burst);
    void (*round_trip)(void *state, netblt_time us, netblt_time now);
    void (*round_trip_guess)(void *state, netblt_time us);
    void (*timeout)(void *state);

    /* The sender: the pair to use from this offer on (NEG-09). An offered size of 0 keeps the current one (AMB-11).
     * *restricted: whether it differs from the offer, so that a NULL-ACK must report it. */
    struct nb_burst (*adopt)(struct nb_burst offer, struct nb_burst current, const struct nb_rate_limits *limits,
                             bool *restricted);
};

#endif
