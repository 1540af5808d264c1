/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NETBLT_CLI_CAPTURE_H
#define NETBLT_CLI_CAPTURE_H

#include "io/driver.h"

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

#endif
