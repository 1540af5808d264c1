/* SPDX-License-Identifier: BSD-2-Clause */
/* Oracle of reflection: see unvalidated.h. */
#include "unvalidated.h"

void unvalidated_limits_of(const netblt_config *config, struct unvalidated_limits *limits)
{
    *limits = (struct unvalidated_limits){
        .factor = 3,
        .header_bytes = 48,
        .at_once = config->unvalidated_bytes_per_s,
        .per_s = config->unvalidated_bytes_per_s / 2,
        .replies_at_once = 16,
        .replies_per_s = 20,
        .gos = 1,
        .gos_acknowledged = 4,
        .whole_bytes = UINT64_C(32) * 1024,
        .chance = 1.0 / 65536,
        .token_window = 1u << 13,
    };
}

/* Times are whole microseconds, so that each packet may come one too early. */
static void spend(struct unvalidated_allowance *allowance, double amount, double per_s, netblt_time now)
{
    allowance->used -= (double)(now - allowance->last_at) * per_s / 1e6;
    allowance->last_at = now;
    allowance->used += amount > per_s / 1e6 ? amount - per_s / 1e6 : 0;
}

bool unvalidated_may_send(const struct unvalidated_limits *limits, struct unvalidated_allowance *bytes_sent,
                          uint64_t *credit, uint64_t bytes, netblt_time now)
{
    uint64_t cost = bytes + limits->header_bytes;
    uint64_t paid = cost < *credit ? cost : *credit;
    *credit -= paid;
    spend(bytes_sent, (double)(cost - paid), (double)limits->per_s, now);
    /* One packet that is larger than the allowance leaves when nothing of it is used. */
    uint64_t most = limits->at_once > cost ? limits->at_once : cost;
    return cost == paid || bytes_sent->used <= (double)most + 1;
}

bool unvalidated_may_reply(const struct unvalidated_limits *limits, struct unvalidated_allowance *replies,
                           netblt_time now)
{
    spend(replies, 1, (double)limits->replies_per_s, now);
    return replies->used <= (double)limits->replies_at_once + 1;
}

void unvalidated_all_left(struct unvalidated_allowance *allowance)
{
    if (allowance->used < 0)
        allowance->used = 0;
}

uint32_t unvalidated_withheld(uint32_t packets)
{
    return packets < 3 ? 0 : (packets - 1) / 2;
}

double unvalidated_chance(uint32_t packets, uint32_t named)
{
    double chance = 1;
    for (uint32_t i = 0; i < unvalidated_withheld(packets); i++)
        chance *= named > i ? (double)(named - i) / (double)(packets - 1 - i) : 0;
    return chance;
}
