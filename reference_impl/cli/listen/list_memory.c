/* SPDX-License-Identifier: BSD-2-Clause */
/* A bound of the memory for manifests and held lists of all peers together: see list_memory.h. */
#include "cli/listen/list_memory.h"

static bool is_allowed(const list_claim *claim, uint64_t used, uint64_t wanted)
{
    uint64_t others = used - claim->bytes;
    uint64_t left = others < claim->memory->most_bytes ? claim->memory->most_bytes - others : 0;
    return wanted <= LIST_MEMORY_LEAST_BYTES || wanted <= left / LIST_MEMORY_SHARE;
}

bool list_claim_more(list_claim *claim, uint64_t bytes)
{
    atomic_uint_fast64_t *used = &claim->memory->used_bytes;
    uint_fast64_t before = *used;
    do {
        if (bytes > UINT64_MAX - claim->bytes || !is_allowed(claim, before, claim->bytes + bytes))
            return false;
    } while (!atomic_compare_exchange_weak(used, &before, before + bytes));
    claim->bytes += bytes;
    return true;
}

void list_claim_return(list_claim *claim)
{
    claim->memory->used_bytes -= claim->bytes;
    claim->bytes = 0;
}
