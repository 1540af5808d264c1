/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads the command line. */
#ifndef NETBLT_CLI_COMMAND_LINE_H
#define NETBLT_CLI_COMMAND_LINE_H

#include "cli/options/options.h"

enum options_result {
    OPTIONS_RUN,   /* do the transfer */
    OPTIONS_SHOWN, /* --help or --version: nothing more to do */
    OPTIONS_WRONG, /* *failure states what */
};

/* Strings stay those of argv; options_free() frees the rest, whatever the result. `json` is set as soon as it is seen,
 * so that even a wrong command line gets its JSON. */
enum options_result options_parse(int argc, char **argv, options *parsed, netblt_failure *failure);
void options_free(options *parsed);

#endif
