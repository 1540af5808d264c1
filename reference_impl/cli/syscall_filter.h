/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NETBLT_CLI_SYSCALL_FILTER_H
#define NETBLT_CLI_SYSCALL_FILTER_H

#include <stdbool.h>

/* A seccomp filter, seccomp(2): the kernel takes only those system calls that moving data needs. */

/* Whether this program was built with libseccomp. */
bool syscall_filter_is_built(void);

/* From now on, and for good, only system calls of the list in syscall_filter.c work; `raw_ip` adds what looks up
 * routes and neighbours and claims ports. no_new_privs must be set. 0, or an errno value. */
int syscall_filter_install(bool raw_ip);

#endif
