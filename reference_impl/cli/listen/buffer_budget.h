/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory for the buffers of all transfers of `netblt listen`: what is promised to validated peers and to others. */
#ifndef NETBLT_CLI_BUFFER_BUDGET_H
#define NETBLT_CLI_BUFFER_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

/* Any transfer may have this much: it keeps a local network busy. */
#define BUFFER_BUDGET_LEAST_BYTES (UINT64_C(1) << 20)
/* Promises that were made before others were kept can come to more than what is shared out. */
#define BUFFER_BUDGET_MAX_BYTES (UINT64_C(1) << 31)

/* Of one transfer. */
typedef struct buffer_claim {
    uint64_t first_bytes;    /* that its buffers may take before the peer is validated */
    uint64_t promised_bytes; /* that its buffers may take */
    uint64_t beside_bytes;   /* and of a validated peer, what is read ahead of them or is being written */
    bool kept;               /* the peer is validated */
} buffer_claim;

/* Of all transfers; begins with zeros. */
typedef struct buffer_budget {
    uint64_t kept_bytes; /* for validated peers */
    uint64_t unvalidated_promised_bytes;
    uint64_t unvalidated_first_bytes;
} buffer_budget;

/* How many bytes the buffers of a new transfer may take: at least BUFFER_BUDGET_LEAST_BYTES. */
uint64_t buffer_budget_share(const buffer_budget *all);
/* `claim` of a peer that is not validated yet is promised. */
void buffer_budget_promise(buffer_budget *all, const buffer_claim *claim);
/* Whether the promise can be kept: a small one always, else kept ones stay within BUFFER_BUDGET_MAX_BYTES. */
bool buffer_budget_fits(const buffer_budget *all, const buffer_claim *claim);
/* The peer is validated now. */
void buffer_budget_keep(buffer_budget *all, buffer_claim *claim);
/* The transfer is over, whether the promise was kept or not. */
void buffer_budget_return(buffer_budget *all, const buffer_claim *claim);

#endif
