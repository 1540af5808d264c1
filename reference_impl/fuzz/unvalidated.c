/* SPDX-License-Identifier: BSD-2-Clause */
/* Oracle of reflection: see unvalidated.h. */
#include "unvalidated.h"

#define OWN_QUITS_BYTES 512 /* QUIT of our own client, at doubled intervals */

void unvalidated_limits_of(const netblt_config *config, uint64_t largest_packet_bytes,
                           struct unvalidated_limits *limits)
{
    uint64_t grant = config->unproven_bytes > largest_packet_bytes ? config->unproven_bytes : largest_packet_bytes;
    *limits = (struct unvalidated_limits){
        .response_factor = 3,
        .receiver_bytes = NETBLT_UNPROVEN_RECEIVER_BYTES,
        .data_bytes = NETBLT_UNPROVEN_GRANTS * grant,
        .per_packet_bytes = 120 * NETBLT_HEADER_BYTES + 20, /* 120 KEEPALIVEs and a NULL-ACK */
        .replies_at_once = 16,
        .replies_per_s = 20,
    };
}

bool unvalidated_within(const struct unvalidated_limits *limits, const struct unvalidated_account *account)
{
    uint64_t other = limits->response_factor * account->opens_bytes + limits->receiver_bytes +
                     limits->per_packet_bytes * (account->packets + 1) + OWN_QUITS_BYTES;
    return account->data_bytes <= limits->data_bytes && account->other_bytes <= other;
}

bool unvalidated_may_reply(const struct unvalidated_limits *limits, struct unvalidated_replies *replies,
                           netblt_time now)
{
    replies->allowance_used -= (double)(now - replies->last_at) * (double)limits->replies_per_s / 1e6;
    replies->last_at = now;
    replies->allowance_used += 1;
    return replies->allowance_used <= (double)limits->replies_at_once + 1;
}

void unvalidated_replies_left(struct unvalidated_replies *replies)
{
    if (replies->allowance_used < 0)
        replies->allowance_used = 0;
}
