/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NETBLT_CLI_QLOG_H
#define NETBLT_CLI_QLOG_H

#include <netblt/events.h>

#include "cli/options/options.h"

/* A log of everything that happens at this end, as JSON text sequences (RFC 7464) in the spirit of qlog. docs/qlog.md
 * describes the records. */
typedef struct qlog qlog;

/* NULL with *failure. */
qlog *qlog_open(const char *path, const options *given, netblt_failure *failure);
void qlog_event(qlog *log, const netblt_event *event);
/* 0, or -1 with *failure when not all was written. NULL is allowed. */
int qlog_close(qlog *log, netblt_failure *failure);

#endif
