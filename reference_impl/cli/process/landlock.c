/* SPDX-License-Identifier: BSD-2-Clause */
/* Restricts the process to some files and directories by Landlock: see sandbox.h. The C library has no functions for
 * it, and the headers of older systems do not name what newer kernels can do, so the interface is written down here. */
#include "cli/process/sandbox.h"

#include <errno.h>
#include <linux/landlock.h>
#include <stdint.h>
#include <sys/stat.h>
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
#define FILES_REFER (UINT64_C(1) << 13)                               /* from version LANDLOCK_RENAMES on */
#define FILES_TRUNCATE (UINT64_C(1) << 14)                            /* from version 3 on */
#define NETWORK_TCP (UINT64_C(1) << 0 | UINT64_C(1) << 1)             /* bind, connect */
#define SCOPES_UNIX_AND_SIGNALS (UINT64_C(1) << 0 | UINT64_C(1) << 1) /* abstract Unix sockets, signals */

#define READS ((uint64_t)LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
/* Files, links and directories are made, files written, and renamed over those that they replace, also from one
 * directory to another. */
#define WRITES                                                                                                         \
    ((uint64_t)LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_SYM |             \
     LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR | FILES_REFER |      \
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

/* Plain files of the program itself. */
#define NOTES                                                                                                          \
    ((uint64_t)LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_MAKE_REG |            \
     LANDLOCK_ACCESS_FS_REMOVE_FILE)

static bool is_directory(int fd)
{
    struct stat status;
    return fstat(fd, &status) == 0 && S_ISDIR(status.st_mode);
}

/* 0, or -1 with errno. */
static int allow(int ruleset, int version, int fd, uint64_t wanted)
{
    struct landlock_path_beneath_attr rule = {.allowed_access = wanted & known_files(version), .parent_fd = fd};
    return (int)syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
}

/* A file has fewer rights than a directory. */
static int allow_beneath(int ruleset, int version, int fd, bool writable)
{
    uint64_t wanted = is_directory(fd) ? (writable ? READS | WRITES : READS) : LANDLOCK_ACCESS_FS_READ_FILE;
    return allow(ruleset, version, fd, wanted);
}

int landlock_restrict_to(const sandbox_files *reached)
{
    int version = landlock_version();
    int ruleset = version > 0 ? create_ruleset(version) : -1;
    int result = 0;
    int error;
    if (ruleset < 0)
        return version > 0 ? errno : EOPNOTSUPP;
    for (size_t i = 0; i < reached->count && result == 0; i++)
        result = allow_beneath(ruleset, version, reached->fds[i], reached->writable);
    if (result == 0 && reached->notes != NULL)
        result = allow(ruleset, version, *reached->notes, NOTES);
    if (result == 0)
        result = (int)syscall(SYS_landlock_restrict_self, ruleset, 0);
    error = result == 0 ? 0 : errno;
    close(ruleset);
    return error;
}
