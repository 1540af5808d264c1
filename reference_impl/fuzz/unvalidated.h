/* SPDX-License-Identifier: BSD-2-Clause */
/* Oracle of reflection: how many bytes an endpoint may send to a peer whose address it has not validated. */
#ifndef NETBLT_FUZZ_UNVALIDATED_H
#define NETBLT_FUZZ_UNVALIDATED_H

#include <netblt/endpoint.h>
#include <stdbool.h>
#include <stdint.h>

/* The numbers of include/netblt/endpoint.h. */
struct unvalidated_limits {
    uint64_t response_factor;  /* RESPONSE: so many times the OPEN, without using up the allowance below */
    uint64_t receiver_bytes;   /* passive receiver, peer silent after its OPEN */
    uint64_t data_bytes;       /* passive sender: DATA and LDATA of a connection */
    uint64_t per_packet_bytes; /* KEEPALIVEs and NULL-ACK for a packet that arrives */
    uint64_t replies_at_once;  /* stateless replies of the endpoint, and RESPONSEs longer than the factor allows */
    uint64_t replies_per_s;
};

/* Of one connection. */
struct unvalidated_account {
    uint64_t opens_bytes; /* OPENs that arrived */
    uint64_t packets;     /* other packets that arrived */
    uint64_t data_bytes;  /* sent in DATA and LDATA */
    uint64_t other_bytes; /* sent in anything else that is no stateless reply */
};

/* Of the endpoint. */
struct unvalidated_replies {
    double allowance_used; /* how much of it */
    netblt_time last_at;
};

/* `largest_packet_bytes`: one that is larger than the grant leaves all the same. */
void unvalidated_limits_of(const netblt_config *config, uint64_t largest_packet_bytes,
                           struct unvalidated_limits *limits);
bool unvalidated_within(const struct unvalidated_limits *limits, const struct unvalidated_account *account);
/* A stateless reply leaves. False: it is beyond the allowance. */
bool unvalidated_may_reply(const struct unvalidated_limits *limits, struct unvalidated_replies *replies,
                           netblt_time now);
/* All replies that were decided upon have left: what is not used of the allowance does not add up. */
void unvalidated_replies_left(struct unvalidated_replies *replies);

#endif
