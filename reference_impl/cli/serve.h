/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NETBLT_CLI_SERVE_H
#define NETBLT_CLI_SERVE_H

#include "cli/transfer.h"

/* netblt listen: many transfers, both ways.
 * serve.c         the command
 * serve_accept.c  who gets what
 * serve_report.c  a line for each transfer */

#define MAX_CONNECTIONS_DEFAULT 100

typedef struct served {
    transfer work;
    struct served *next;
    char peer[NETBLT_ADDRESS_TEXT_BYTES];
    char name[NETBLT_STRING_MAX_BYTES + 1];      /* as the peer said it */
    char printable[NETBLT_STRING_MAX_BYTES + 1]; /* for messages */
    uint64_t memory_bytes;                       /* that its buffers may take */
    bool gave_way;                               /* its place went to somebody else */
    dev_t dir_device;                            /* receiving: where the file goes, so that no two go to one place */
    ino_t dir_inode;
} served;

typedef struct serve {
    const options *given;
    station net;
    netblt_failure failure;
    int root;
    served *all;
    bool stopped;
    unsigned interrupted; /* signals */
    netblt_time refusals_counted_from;
    unsigned refusals;  /* reported since */
    bool output_failed; /* stdout takes no more, which was told */
} serve;

/* ---- serve_accept.c */
void serve_accept(void *context, const netblt_request *request, netblt_answer *answer);
void served_free(served *one);

/* ---- serve_report.c */
void serve_report(serve *server, const served *one);
void serve_report_refusal(serve *server, const served *one, enum netblt_role role, const char *reason);

#endif
