/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NETBLT_CLI_SUMMARY_H
#define NETBLT_CLI_SUMMARY_H

#include <stdio.h>

#include <netblt/endpoint.h>

#include "cli/digest.h"
#include "cli/json.h"
#include "cli/options.h"

/* How it all ended: what the human's lines and the JSON object are made of. Keys and meanings: docs/netblt.md. */
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

void summary_print_json(const summary *end, FILE *to);
/* The same keys as members of an object that the caller has begun, and goes on with. */
void summary_write_members(const summary *end, json_writer *json);
void summary_write_negotiated(const summary *end, json_writer *json);
/* Two lines for people. Only for a transfer that succeeded. */
void summary_print_text(const summary *end, FILE *to);

#endif
