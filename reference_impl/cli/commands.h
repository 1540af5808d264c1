/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NETBLT_CLI_COMMANDS_H
#define NETBLT_CLI_COMMANDS_H

#include "cli/exit_code.h"
#include "cli/options.h"

/* What the program does, by its first word. Each prints what there is to print and answers the exit code. */
enum exit_code command_move(const options *given);  /* send, recv: move.c */
enum exit_code command_serve(const options *given); /* listen: serve.c */
enum exit_code command_perf(const options *given);  /* perf: perf.c */

#endif
