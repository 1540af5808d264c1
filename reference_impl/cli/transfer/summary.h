/* SPDX-License-Identifier: BSD-2-Clause */
/* The result of a transfer, as text and as JSON. */
#ifndef NETBLT_CLI_SUMMARY_H
#define NETBLT_CLI_SUMMARY_H

#include <stdio.h>

#include <netblt/endpoint.h>

#include "cli/report/json.h"
#include "cli/store/digest.h"

/* Keys and meanings: docs/netblt.md. */
typedef struct summary {
    const char *result; /* netblt_result_name(), or "local-error", "not-supported", "interrupted" */
    char reason[400];
    enum netblt_role role;
    bool active;
    const char *name; /* the file; NULL when there is none */
    bool was_opened;  /* info.negotiated counts */
    netblt_info info;
    uint64_t bytes;
    double seconds;                 /* from the first OPEN to the outcome */
    double steady_seconds;          /* from the first DATA packet to the last buffer */
    char sha256[DIGEST_TEXT_BYTES]; /* empty when the transfer did not succeed */
    uint64_t wire_bytes;
} summary;

/* NULL when memory is short. */
json_t *summary_object(const summary *end);
json_t *summary_negotiated(const summary *end);
/* Two lines for people on stderr. Only for a transfer that succeeded. */
void summary_print_text(const summary *end);
/* Bits per second; 0 for no time. */
double summary_rate(uint64_t bytes, double seconds);

#endif
