/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NETBLT_CLI_USAGE_H
#define NETBLT_CLI_USAGE_H

#include <stdio.h>

void usage_show_help(FILE *to);
void usage_show_version(FILE *to);

#endif
