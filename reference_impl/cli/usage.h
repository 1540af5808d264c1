/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NETBLT_CLI_USAGE_H
#define NETBLT_CLI_USAGE_H

#include <stdio.h>

#include "cli/options.h"

/* Of one command with its options, or an overview of all (COMMANDS). */
void usage_show_help(enum command command, FILE *to);
void usage_show_version(FILE *to);

#endif
