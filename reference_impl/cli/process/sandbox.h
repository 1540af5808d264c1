/* SPDX-License-Identifier: BSD-2-Clause */
/* What keeps a process that processes packets of peers from doing anything else. */
#ifndef NETBLT_CLI_SANDBOX_H
#define NETBLT_CLI_SANDBOX_H

#include "cli/options/options.h"

/* The last step of setting up. No capability is left; Landlock confines files to `directory` (-1: none can be opened
 * any more), `writable` or to be read only; a filter confines system calls. options.sandbox states what happens where
 * the kernel or the build lacks the last two. 0, or -1 with *failure: then nothing of a peer may be processed. */
int confine(const options *given, int directory, bool writable, netblt_failure *failure);

/* ---- landlock.c: landlock(7). The kernel lets this process open files only beneath one directory, and none at all
 * without one. What is open stays usable, and names can still be looked up. */
/* What the kernel offers: the version of its interface; 0: nothing. */
int landlock_version(void);

/* From now on, permanently, the process opens files beneath the directory `fd` only (-1: nowhere), `writable` to
 * create, write, rename and remove them as well; it makes no TCP connections; it sends no signals to other processes
 * (Linux 6.12). no_new_privs must be set. 0, or an errno value. */
int landlock_restrict_to(int fd, bool writable);

/* ---- syscall_filter.c */
/* A seccomp filter, seccomp(2): the kernel takes only those system calls that moving data needs. */

/* Whether this program was built with libseccomp. */
bool syscall_filter_is_built(void);

/* From now on, permanently, only system calls of the list in syscall_filter.c work; `raw_ip` adds what looks up
 * routes and neighbours and claims ports. no_new_privs must be set. 0, or an errno value. */
int syscall_filter_install(bool raw_ip);

#endif
