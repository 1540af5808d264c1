/* SPDX-License-Identifier: BSD-2-Clause */
/* Failures as one line of text for the user. */
#ifndef NETBLT_IO_FAILURE_H
#define NETBLT_IO_FAILURE_H

/* Why something outside the protocol could not be done: one line for the user that states what was wrong and what to
 * do.
 */
enum netblt_failure_kind {
    NETBLT_FAILURE_NONE = 0,
    NETBLT_FAILURE_LOCAL,       /* usage, files, permissions, ports of this host */
    NETBLT_FAILURE_NAMES,       /* local, too: names cannot be looked up at the moment */
    NETBLT_FAILURE_UNREACHABLE, /* the network cannot take us to the peer */
    NETBLT_FAILURE_UNSUPPORTED, /* this build or this kernel cannot do it at all */
};

typedef struct netblt_failure {
    enum netblt_failure_kind kind;
    char text[400]; /* one line, no newline; long enough for a path and an explanation, longer text is cut */
} netblt_failure;

/* Fills *failure. Returns -1, so that a function can `return netblt_fail(...)`. */
int netblt_fail(netblt_failure *failure, enum netblt_failure_kind kind, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
