/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NETBLT_CLI_LANDLOCK_H
#define NETBLT_CLI_LANDLOCK_H

#include <stdbool.h>

/* Landlock, landlock(7): the kernel lets this process open files only beneath one directory, and none at all without
 * one. What is open stays usable, and names can still be looked up. */

/* What the kernel offers: the version of its interface; 0: nothing. */
int landlock_version(void);

/* From now on, and for good, the process opens files beneath the directory `fd` only (-1: nowhere), `writable` to
 * create, write, rename and remove them as well; it makes no TCP connections; it sends no signals to other processes
 * (Linux 6.12). no_new_privs must be set. 0, or an errno value. */
int landlock_restrict_to(int fd, bool writable);

#endif
