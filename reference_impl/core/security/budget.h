/* SPDX-License-Identifier: BSD-2-Clause */
/* The one limit on what an endpoint sends to all peers together that have not shown yet that packets reach them. */
#ifndef NETBLT_CORE_BUDGET_H
#define NETBLT_CORE_BUDGET_H

#include <netblt/endpoint.h>

/* For each byte received from an unvalidated peer, three may be sent to it (the factor of RFC 9000 8.1). What goes
 * beyond that comes out of one token bucket for the whole endpoint, by the generic cell rate algorithm.
 *
 *   sent to unvalidated peers in any time T <= 3 * received + depth + rate * T,
 *   depth = netblt_config.unvalidated_bytes_per_s * 1 s, rate = half of it,
 *
 * so in any two seconds or more the average is not above unvalidated_bytes_per_s, and a single honest peer after a
 * quiet second has a whole second's worth at once. */
#define NB_BUDGET_FACTOR 3
/* Received bytes are counted without IP and UDP headers, sent ones with the largest (IPv6 and UDP): the bound holds for
 * packets with and without headers, whatever carries them. */
#define NB_BUDGET_HEADER_BYTES 48

struct nb_budget {
    uint32_t bytes_per_s; /* 0 = no limit */
    netblt_time empty_at; /* the generic cell rate algorithm's theoretical arrival time; in the past = bucket full */
};

void nb_budget_init(struct nb_budget *budget, uint32_t bytes_per_s);
/* When a packet of `bytes` bytes may be sent to a peer that has `credit` bytes left of its own: `now`, or later. A
 * packet larger than the bucket leaves when the bucket is full. */
netblt_time nb_budget_at(const struct nb_budget *budget, uint64_t credit, size_t bytes, netblt_time now);
/* It leaves now: takes it from the credit, and the rest from the bucket. */
void nb_budget_spend(struct nb_budget *budget, uint64_t *credit, size_t bytes, netblt_time now);

#endif
