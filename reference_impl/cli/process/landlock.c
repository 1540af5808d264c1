/* SPDX-License-Identifier: BSD-2-Clause */
/* Restricts the process to one directory by Landlock: see sandbox.h. The C library has no functions for it, and the
 * headers of older systems do not name what newer kernels can do, so the interface is written down here. */
#include "cli/process/sandbox.h"

#include <errno.h>
#include <linux/landlock.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

/* struct landlock_ruleset_attr of version 6. Older kernels take the first part of it. */
struct ruleset {
    uint64_t files;
    uint64_t network; /* from version 4 on */
    uint64_t scopes;  /* from version 6 on */
};

#define NETWORK_FROM 4
#define SCOPES_FROM 6

/* linux/landlock.h of newer kernels */
#define FILES_TRUNCATE (UINT64_C(1) << 14)                            /* from version 3 on */
#define NETWORK_TCP (UINT64_C(1) << 0 | UINT64_C(1) << 1)             /* bind, connect */
#define SCOPES_UNIX_AND_SIGNALS (UINT64_C(1) << 0 | UINT64_C(1) << 1) /* abstract Unix sockets, signals */

#define READS ((uint64_t)LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
/* A file is made, written, and renamed over the one that it replaces, all in one directory. */
#define WRITES                                                                                                         \
    ((uint64_t)LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_REMOVE_FILE |          \
     FILES_TRUNCATE)

int landlock_version(void)
{
    long version = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
    return version > 0 ? (int)version : 0;
}

/* Every right of files that this version knows: the lowest so many bits. */
static uint64_t known_files(int version)
{
    static const unsigned rights[] = {0, 13, 14, 15, 15, 16};
    int last = (int)(sizeof rights / sizeof *rights) - 1;
    return (UINT64_C(1) << rights[version < last ? version : last]) - 1;
}

/* A file descriptor, or -1 with errno. */
static int create_ruleset(int version)
{
    const struct ruleset all = {
        .files = known_files(version),
        .network = version >= NETWORK_FROM ? NETWORK_TCP : 0,
        .scopes = version >= SCOPES_FROM ? SCOPES_UNIX_AND_SIGNALS : 0,
    };
    size_t size = version >= SCOPES_FROM    ? sizeof all
                  : version >= NETWORK_FROM ? 2 * sizeof(uint64_t)
                                            : sizeof(uint64_t);
    return (int)syscall(SYS_landlock_create_ruleset, &all, size, 0);
}

/* 0, or -1 with errno. */
static int allow_beneath(int ruleset, int version, int fd, bool writable)
{
    struct landlock_path_beneath_attr rule = {
        .allowed_access = (writable ? READS | WRITES : READS) & known_files(version),
        .parent_fd = fd,
    };
    return (int)syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
}

int landlock_restrict_to(int fd, bool writable)
{
    int version = landlock_version();
    int ruleset = version > 0 ? create_ruleset(version) : -1;
    int error = 0;
    if (ruleset < 0)
        return version > 0 ? errno : EOPNOTSUPP;
    if ((fd >= 0 && allow_beneath(ruleset, version, fd, writable) != 0) ||
        syscall(SYS_landlock_restrict_self, ruleset, 0) != 0)
        error = errno;
    close(ruleset);
    return error;
}
