/* SPDX-License-Identifier: BSD-2-Clause */
/* Oracle of reflection: what an endpoint may send to peers whose address it has not validated, and what validates one.
 */
#ifndef NETBLT_FUZZ_UNVALIDATED_H
#define NETBLT_FUZZ_UNVALIDATED_H

#include <netblt/endpoint.h>
#include <stdbool.h>
#include <stdint.h>

/* The numbers of include/netblt/endpoint.h. */
struct unvalidated_limits {
    uint64_t factor;       /* bytes that one received byte pays for */
    uint64_t header_bytes; /* IP and UDP headers, counted with each packet that is sent */
    uint64_t at_once;      /* bytes for all unvalidated peers together, beyond what they pay for */
    uint64_t per_s;
    uint64_t replies_at_once; /* stateless replies of the endpoint */
    uint64_t replies_per_s;
    uint64_t gos, gos_acknowledged; /* of a receiver, before and after the first is acknowledged */
    uint64_t whole_bytes;           /* a sender withholds no packets of the first buffers, up to so many bytes */
    double chance;                  /* of a peer that saw nothing to name the withheld packets */
    uint32_t token_window;          /* numbers from that of the token on, which validate a guarded peer */
};

/* Of the endpoint: how much of an allowance is used. */
struct unvalidated_allowance {
    double used;
    netblt_time last_at;
};

void unvalidated_limits_of(const netblt_config *config, struct unvalidated_limits *limits);
/* A packet of `bytes` bytes leaves to a peer that has paid for `*credit` bytes more than were sent to it. False: it is
 * beyond the allowance. */
bool unvalidated_may_send(const struct unvalidated_limits *limits, struct unvalidated_allowance *bytes_sent,
                          uint64_t *credit, uint64_t bytes, netblt_time now);
/* A stateless reply leaves. False: it is beyond the allowance. */
bool unvalidated_may_reply(const struct unvalidated_limits *limits, struct unvalidated_allowance *replies,
                           netblt_time now);
/* All packets that were decided upon have left: what is not used of an allowance does not add up. */
void unvalidated_all_left(struct unvalidated_allowance *allowance);

/* How many of a buffer's packets are withheld. */
uint32_t unvalidated_withheld(uint32_t packets);
/* The probability that `named` of a buffer's packets hold all that are withheld. */
double unvalidated_chance(uint32_t packets, uint32_t named);

#endif
