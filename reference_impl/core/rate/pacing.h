/* SPDX-License-Identifier: BSD-2-Clause */
/* Pacing at the sender (RFC 998 4): how many DATA packets may leave, and when. */
#ifndef NETBLT_CORE_PACING_H
#define NETBLT_CORE_PACING_H

#include <netblt/types.h>
#include <stdbool.h>
#include <stdint.h>

/* Rate control at the sender (RFC 998 4; RATE-01..05): bursts of at most `size` packets whose starts lie at least
 * `interval` apart. New and repeated packets draw on the same budget (RATE-03).
 *
 * Invariant: start(k+1) >= start(k) + interval, where start(k) is the *planned* start as long as the burst left within
 * min(catch_up_max, interval / 4) of it, and the actual start otherwise: small lateness of the host is caught up, a
 * really late burst is not.
 *
 * A burst ends when its packets are used up or when the sender has nothing more to send (nb_pacing_ran_dry): what is
 * left of it is forfeited, so that no window as long as the interval ever holds more than `size` packets. */

struct nb_burst {
    uint16_t size;        /* packets, >= 1 */
    uint16_t interval_ms; /* start to start; 0 = not paced (AMB-11) */
};

struct nb_pacing {
    struct nb_burst burst;   /* in force */
    struct nb_burst settled; /* from the newest OK; what NULL-ACK reports (CTRL-11) */
    netblt_time catch_up_max_us;
    netblt_time started_at; /* planned start of the running burst */
    bool any;               /* whether a burst was ever started */
    uint16_t left;          /* packets left in the running burst */
};

void nb_pacing_init(struct nb_pacing *pacing, struct nb_burst burst, netblt_time catch_up_max_us);

/* When the next packet may leave: `now` or a later time. */
netblt_time nb_pacing_next(const struct nb_pacing *pacing, netblt_time now);
/* How many packets may leave at `now`, 0 if none; starts a burst if it is time for one. UINT16_MAX when not paced. */
uint16_t nb_pacing_begin(struct nb_pacing *pacing, netblt_time now);
void nb_pacing_sent(struct nb_pacing *pacing, uint16_t packets);
void nb_pacing_ran_dry(struct nb_pacing *pacing);

/* A pair settled with the receiver by OK (RATE-05). What is slower holds from the next burst on, what is faster from
 * the next buffer on (AMB-43). */
void nb_pacing_settle(struct nb_pacing *pacing, struct nb_burst burst);
/* The first packet of a buffer that was never sent before is about to leave. */
void nb_pacing_new_buffer(struct nb_pacing *pacing);

#endif
