/* SPDX-License-Identifier: BSD-2-Clause */
/* Files that record what a command does: --pcap and --qlog. */
#ifndef NETBLT_CLI_RECORDS_H
#define NETBLT_CLI_RECORDS_H

#include <netblt/events.h>

#include "cli/options/options.h"
#include "io/driver.h"

/* ---- capture.c */
/* A capture of what this process sent and received, as Wireshark reads it: nanosecond pcap, packets from the IP header
 * on (LINKTYPE_RAW). Sockets show no IP headers, so they are made up here: addresses, ports and lengths are the true
 * ones, identification climbs for each sender, all else is what is usual. */
typedef struct capture capture;

/* NULL with *failure. */
capture *capture_open(const char *path, netblt_failure *failure);
/* A segmented run becomes so many packets. Errors are kept for capture_close(). */
void capture_write(capture *file, const netblt_passing *passing);
/* 0, or -1 with *failure when not all was written. NULL is allowed. */
int capture_close(capture *file, netblt_failure *failure);

/* ---- qlog.c */
/* A log of everything that happens at this end, as JSON text sequences (RFC 7464) in the spirit of qlog. docs/qlog.md
 * describes the records. */
typedef struct qlog qlog;

/* NULL with *failure. */
qlog *qlog_open(const char *path, const options *given, netblt_failure *failure);
void qlog_event(qlog *log, const netblt_event *event);
/* 0, or -1 with *failure when not all was written. NULL is allowed. */
int qlog_close(qlog *log, netblt_failure *failure);

#endif
