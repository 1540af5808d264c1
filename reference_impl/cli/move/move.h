/* SPDX-License-Identifier: BSD-2-Clause */
/* netblt send and recv. */
#ifndef NETBLT_CLI_MOVE_H
#define NETBLT_CLI_MOVE_H

#include "cli/options/options.h"
#include "cli/report/report.h"

/* Prints what there is to print and returns the exit code. */
enum exit_code command_move(const options *given);

#endif
