/* SPDX-License-Identifier: BSD-2-Clause */
/* The token bucket for all unvalidated peers of an endpoint: see budget.h. */
#include "security/budget.h"

#define DEPTH_US UINT64_C(2000000) /* at half of bytes_per_s: one second's worth */

void nb_budget_init(struct nb_budget *budget, uint32_t bytes_per_s)
{
    *budget = (struct nb_budget){.bytes_per_s = bytes_per_s};
}

/* The part that the bucket pays, as the time that it takes to fill up again. */
static netblt_time price_us(const struct nb_budget *budget, uint64_t credit, size_t bytes)
{
    uint64_t cost = (uint64_t)bytes + NB_BUDGET_HEADER_BYTES;
    return cost <= credit ? 0 : (cost - credit) * DEPTH_US / budget->bytes_per_s;
}

netblt_time nb_budget_at(const struct nb_budget *budget, uint64_t credit, size_t bytes, netblt_time now)
{
    if (budget->bytes_per_s == 0)
        return now;
    netblt_time price = price_us(budget, credit, bytes);
    netblt_time drained_at = budget->empty_at + (price < DEPTH_US ? price : DEPTH_US);
    return price > 0 && drained_at > now + DEPTH_US ? drained_at - DEPTH_US : now;
}

void nb_budget_spend(struct nb_budget *budget, uint64_t *credit, size_t bytes, netblt_time now)
{
    uint64_t cost = (uint64_t)bytes + NB_BUDGET_HEADER_BYTES;
    if (budget->bytes_per_s != 0) {
        netblt_time from = budget->empty_at > now ? budget->empty_at : now;
        budget->empty_at = from + price_us(budget, *credit, bytes);
    }
    *credit = cost < *credit ? *credit - cost : 0;
}
