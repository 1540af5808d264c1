/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NETBLT_CLI_OPTION_WORDS_H
#define NETBLT_CLI_OPTION_WORDS_H

#include "cli/options.h"

/* The words of a command line that are no options: command, FILE, HOST. */

/* COMMANDS when the first word is none. */
enum command option_words_command(char **words, int count);
/* 0, or -1 with *failure. */
int option_words_set(options *parsed, char **words, int count, netblt_failure *failure);
/* Settings that are right one by one and wrong together; settles what one of them says about another. */
int option_words_check(options *parsed, netblt_failure *failure);

#endif
