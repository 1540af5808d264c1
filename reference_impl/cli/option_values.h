/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NETBLT_CLI_OPTION_VALUES_H
#define NETBLT_CLI_OPTION_VALUES_H

#include "cli/options.h"

/* Options whose value is more than a number or a text. Each answers 0, or -1 with *failure. */
int option_set_encap(options *parsed, const char *text, netblt_failure *failure);
int option_set_transmit(options *parsed, const char *text, netblt_failure *failure);
int option_set_bind(options *parsed, const char *text, netblt_failure *failure);
int option_set_ipv4(options *parsed, const char *text, netblt_failure *failure);
int option_set_ipv6(options *parsed, const char *text, netblt_failure *failure);
int option_set_path(options *parsed, const char *text, netblt_failure *failure);
int option_set_sandbox(options *parsed, const char *text, netblt_failure *failure);
int option_set_rate(options *parsed, const char *text, netblt_failure *failure);
int option_set_client_string(options *parsed, const char *text, netblt_failure *failure);
int option_set_sync(options *parsed, const char *text, netblt_failure *failure);
int option_set_no_sync(options *parsed, const char *text, netblt_failure *failure);
int option_set_profile(options *parsed, const char *text, netblt_failure *failure);
int option_set_reverse(options *parsed, const char *text, netblt_failure *failure);
int option_add_allow(options *parsed, const char *text, netblt_failure *failure);
/* NETBLT numbers buffers within one connection only: there is nothing to resume from. */
int option_refuse_resume(options *parsed, const char *text, netblt_failure *failure);

#endif
