/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory for the buffers of all transfers of `netblt listen`. */
#include "cli/listen/buffer_budget.h"

/* A new transfer may have a quarter of what is left of this, so that there is always some left for the next. */
#define SHARED_BYTES (UINT64_C(1) << 30)
#define SHARE 4
/* What is promised to unvalidated peers counts up to here: forged OPENs must not leave the least to all others. */
#define UNVALIDATED_MAX_BYTES (SHARED_BYTES / 2)

uint64_t buffer_budget_share(const buffer_budget *all)
{
    uint64_t unvalidated = all->unvalidated_promised_bytes;
    uint64_t used = all->kept_bytes + (unvalidated < UNVALIDATED_MAX_BYTES ? unvalidated : UNVALIDATED_MAX_BYTES);
    uint64_t share = used < SHARED_BYTES ? (SHARED_BYTES - used) / SHARE : 0;
    return share < BUFFER_BUDGET_LEAST_BYTES ? BUFFER_BUDGET_LEAST_BYTES : share;
}

void buffer_budget_promise(buffer_budget *all, const buffer_claim *claim)
{
    all->unvalidated_first_bytes += claim->first_bytes;
    all->unvalidated_promised_bytes += claim->promised_bytes;
}

bool buffer_budget_fits(const buffer_budget *all, const buffer_claim *claim)
{
    return claim->promised_bytes <= BUFFER_BUDGET_LEAST_BYTES ||
           all->kept_bytes + claim->promised_bytes + claim->beside_bytes <= BUFFER_BUDGET_MAX_BYTES;
}

void buffer_budget_keep(buffer_budget *all, buffer_claim *claim)
{
    buffer_budget_return(all, claim);
    claim->kept = true;
    all->kept_bytes += claim->promised_bytes + claim->beside_bytes;
}

void buffer_budget_return(buffer_budget *all, const buffer_claim *claim)
{
    if (claim->kept) {
        all->kept_bytes -= claim->promised_bytes + claim->beside_bytes;
    } else {
        all->unvalidated_first_bytes -= claim->first_bytes;
        all->unvalidated_promised_bytes -= claim->promised_bytes;
    }
}
