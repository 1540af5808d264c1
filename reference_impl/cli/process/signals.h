/* SPDX-License-Identifier: BSD-2-Clause */
/* SIGINT, SIGTERM and SIGHUP: the signals by which a user or the system ends this program. */
#ifndef NETBLT_CLI_SIGNALS_H
#define NETBLT_CLI_SIGNALS_H

#include <stdbool.h>

#include "io/failure.h"
#include "io/loop.h"

/* From the first line of main() on: until signals_watch() one of them ends the program at once, with exit code 130,
 * `line` on stderr and `object` on stdout. Both stay the caller's and must live on; NULL: nothing. */
void signals_catch_early(const char *line, const char *object);
/* Then that ending also removes this file; NULL: none. */
void signals_remove_early(const char *path);

/* What became of the wish to stop. */
enum interruption {
    INTERRUPTION_NOBODY, /* there is no peer to ask or to wait for */
    INTERRUPTION_ENDS,   /* it is over soon */
    INTERRUPTION_ASKED,  /* a peer was asked to end in order, which may take a while */
};

/* One policy for all commands: the first signal asks the peers for an orderly end (QUIT), the second aborts
 * (ABORT), the third ends without a packet. */
typedef struct signals {
    unsigned count; /* that have come */
    bool leave;     /* at once: nothing is left to ask or to wait for, or the user does not want to wait */
    /* What a command does at the first signal, and `again` at the second. Unset before the first round. */
    enum interruption (*ask)(void *context, bool again);
    void *context;
    const char *peers; /* that are asked, for people */
    int fd;            /* -1: not watched yet */
} signals;

/* From here on signals follow the policy. Also ignores SIGPIPE and SIGXFSZ: errors of write() report the same. 0, or -1
 * with *failure. */
int signals_watch(signals *watch, netblt_loop *loop, netblt_failure *failure);
/* After the loop. */
void signals_close(signals *watch);

#endif
