/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NETBLT_CLI_SIGNALS_H
#define NETBLT_CLI_SIGNALS_H

/* SIGINT, SIGTERM and SIGHUP come as readable events instead of ending the process, SIGPIPE and
 * SIGXFSZ as a failing write.
 * Answers a descriptor, or -1 with errno. */
int signals_open(void);
/* Signals that have come since the last call. */
unsigned signals_take(int fd);

#endif
