/* SPDX-License-Identifier: BSD-2-Clause */
/* The one way to report: lines for people on stderr, a line that is drawn over while data move, objects for machines on
 * stdout. There is one terminal, so this is one for the whole process. */
#ifndef NETBLT_CLI_REPORT_H
#define NETBLT_CLI_REPORT_H

#include <netblt/types.h>

#include "cli/options/options.h"
#include "cli/report/progress.h"
#include "cli/report/text.h"

/* What the program's exit code means; documented in docs/netblt.md. */
enum exit_code {
    EXIT_CODE_DONE = 0,
    EXIT_CODE_FAILED = 1,        /* the transfer began and failed */
    EXIT_CODE_LOCAL = 2,         /* usage, files, permissions, ports of this host */
    EXIT_CODE_UNREACHABLE = 3,   /* refused, or no way to the peer, or no answer */
    EXIT_CODE_UNSUPPORTED = 127, /* this program or this kernel cannot do it */
    EXIT_CODE_INTERRUPTED = 130, /* a signal ended it */
};

/* Before it, everything is reported. */
void report_begin(const options *given);

/* One line on stderr, beginning with "netblt: ". */
void report_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The same for what --quiet leaves out. */
void report_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Prints one object as a line on stdout and releases it. NULL: memory is short. False with errno when stdout takes no
 * more. */
bool report_object(json_t *object);
/* What was printed has been written, all of it since stdout had its last clearerr(). False with errno, when that
 * happens now. */
bool report_flush(void);

/* ---- progress: a line that is drawn over, on a terminal, and with --json-progress an object each second */

/* When to call report_progress() next; NEVER when nothing is shown. */
netblt_time report_progress_next(void);
/* Shows what is due, of the one transfer of this process. */
void report_progress(const progress_view *view, netblt_time now);
void report_progress_clear(void);

/* ---- the same for a command with many transfers, which keeps a progress_meter for each */

/* When the next object is due after one that was due at `due` (0: none yet): a second later, and never at once. */
netblt_time report_progress_due(netblt_time due, netblt_time now);
/* Whether stdout takes an object without waiting for a reader: progress is left out rather than let transfers wait. */
bool report_has_room(void);

#endif
