/* SPDX-License-Identifier: BSD-2-Clause */
/* A path that is a formula, for tests of automatic rate control: a sender that follows every offer at once, a link with
 * a drop-tail queue, loss by chance. Rates are packets a second. */
#ifndef NETBLT_TESTS_RATE_LANE_H
#define NETBLT_TESTS_RATE_LANE_H

#include "random.h"
#include "rate/rate_control.h"

#define MS UINT64_C(1000)
#define SECOND UINT64_C(1000000)
#define BUFFER_PACKETS 90
#define OFFERS_UNDER_WAY 16384

struct offer {
    netblt_time at; /* reaches the sender */
    uint16_t seq;
    struct nb_burst burst;
};

struct lane {
    /* the path */
    double link;    /* 0 = never the limit */
    double queue_s; /* what the queue holds, in time */
    netblt_time round_trip_us;
    unsigned loss_permille;
    double others;                /* a constant cross flow: its share of the link */
    netblt_time scatter_us;       /* round trips are longer by up to this, by chance */
    bool cut;                     /* nothing arrives */
    double sender_most;           /* the sender's own limit; 0 = none */
    unsigned late_permille;       /* so many bursts leave late ... */
    netblt_time late_us;          /* ... by this */
    struct nb_burst sender_means; /* a fixed sender's pair; size 0 = it follows */

    struct nb_rate_control rate;
    struct random random;
    netblt_time now; /* at the sender */
    double free_at;  /* the link, in microseconds */
    struct nb_burst pair;
    uint16_t acked; /* newest OK that the sender has */
    uint64_t position;
    struct offer offers[OFFERS_UNDER_WAY];
    size_t first, count;
    uint16_t next_seq;
    uint16_t seen_ack; /* at the receiver */
    netblt_time made_at[65536];

    uint64_t sent, dropped, arrived;
};

/* A link of so many packets a second; 0 = never the limit. */
void lane_init(struct lane *lane, double link, netblt_time round_trip_us, enum netblt_rate mode);
/* Counts from the start and sends for so long. */
void lane_run(struct lane *lane, double seconds);
/* One burst of the sender, and the time until its next one. */
void lane_step(struct lane *lane);

#endif
