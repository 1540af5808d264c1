/* SPDX-License-Identifier: BSD-2-Clause */
/* What keeps a process that processes packets of peers from doing anything else. */
#ifndef NETBLT_CLI_SANDBOX_H
#define NETBLT_CLI_SANDBOX_H

#include "cli/options/options.h"

/* What a process may still open, by O_PATH descriptors: these files, and what lies beneath these directories. */
typedef struct sandbox_files {
    const int *fds;
    size_t count;     /* 0: no other file can be opened any more */
    bool writable;    /* directories: everything may be created, written, renamed and removed in them, too */
    const int *notes; /* NULL, or a directory for files of the program itself, which it may read and replace */
} sandbox_files;

/* The last step of setting up. No capability is left; Landlock confines files to `reached`; a filter confines system
 * calls. options.sandbox states what happens where the kernel or the build lacks the last two. 0, or -1 with *failure:
 * then nothing of a peer may be processed. */
int confine(const options *given, const sandbox_files *reached, netblt_failure *failure);

/* ---- landlock.c: landlock(7). The kernel lets this process open some files, and no others. What is open stays usable,
 * and names can still be looked up. */
/* What the kernel offers: the version of its interface; 0: nothing. */
int landlock_version(void);
/* The first version in which a file may be renamed into another directory, as a tree transfer does. */
#define LANDLOCK_RENAMES 2

/* From now on, permanently, the process opens `reached` only; it makes no TCP connections; it sends no signals to
 * other processes (Linux 6.12). no_new_privs must be set. 0, or an errno value. */
int landlock_restrict_to(const sandbox_files *reached);

/* ---- syscall_filter.c */
/* A seccomp filter, seccomp(2): the kernel takes only those system calls that moving data needs. */

/* Whether this program was built with libseccomp. */
bool syscall_filter_is_built(void);

/* From now on, permanently, only system calls of the list in syscall_filter.c work; `raw_ip` adds what looks up
 * routes and neighbours and claims ports. no_new_privs must be set. 0, or an errno value. */
int syscall_filter_install(bool raw_ip);

#endif
