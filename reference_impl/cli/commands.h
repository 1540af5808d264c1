/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NETBLT_CLI_COMMANDS_H
#define NETBLT_CLI_COMMANDS_H

#include "cli/options.h"

/* What the program's exit code means; documented in docs/netblt.md. */
enum exit_code {
    EXIT_CODE_DONE = 0,
    EXIT_CODE_FAILED = 1,        /* the transfer began and failed */
    EXIT_CODE_LOCAL = 2,         /* usage, files, permissions, ports of this host */
    EXIT_CODE_UNREACHABLE = 3,   /* refused, or no way to the peer, or no answer */
    EXIT_CODE_UNSUPPORTED = 127, /* this program or this kernel cannot do it */
    EXIT_CODE_INTERRUPTED = 130, /* a signal asked for the end */
};

/* What the program does, by its first word. Each prints what there is to print and answers the exit code. */
enum exit_code command_move(const options *given);  /* send, recv: move.c */
enum exit_code command_serve(const options *given); /* listen: serve.c */
enum exit_code command_perf(const options *given);  /* perf: perf.c */

#endif
