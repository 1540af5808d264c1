/* SPDX-License-Identifier: BSD-2-Clause */
/* Opens files beneath a directory that is held open: see beneath.h. */
#include "cli/tree/beneath.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A rename elsewhere in the tree makes the kernel start over; an attacker could make it do so for ever. */
#define TRIES 16

static bool walk_always;

void beneath_walk_always(bool always)
{
    walk_always = always;
}

static int open_in_one_step(int directory, const char *path, int flags, uint64_t resolve)
{
    struct open_how how = {.flags = (unsigned)(flags | O_CLOEXEC), .resolve = resolve};
    int fd = -1;
    for (unsigned i = 0; i < TRIES; i++) {
        fd = (int)syscall(SYS_openat2, directory, path, &how, sizeof how);
        if (fd >= 0 || (errno != EAGAIN && errno != EINTR))
            break;
    }
    return fd;
}

/* Part by part from a directory that is held open; a link anywhere is the end (ELOOP). */
static int open_walking(int directory, const char *path, int flags)
{
    char copy[BENEATH_PATH_BYTES];
    char *rest = copy;
    int dir;
    if (strlen(path) >= sizeof copy) {
        errno = ENAMETOOLONG;
        return -1;
    }
    memcpy(copy, path, strlen(path) + 1);
    dir = fcntl(directory, F_DUPFD_CLOEXEC, 3);
    while (dir >= 0 && rest != NULL) {
        const char *part = strsep(&rest, "/");
        int next = openat(dir, part, (rest == NULL ? flags : O_PATH | O_DIRECTORY) | O_NOFOLLOW | O_CLOEXEC);
        int error = errno;
        close(dir);
        errno = error;
        dir = next;
    }
    return dir;
}

/* Kernels before 5.6 and some sandboxes know no openat2. */
static int open_resolving(int directory, const char *path, int flags, uint64_t resolve)
{
    int fd = -1;
    errno = ENOSYS;
    if (!walk_always)
        fd = open_in_one_step(directory, path, flags, resolve);
    if (fd < 0 && (errno == ENOSYS || errno == EPERM))
        fd = open_walking(directory, path, flags);
    return fd;
}

int beneath_open(int directory, const char *path, int flags)
{
    return open_resolving(directory, path, flags, RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS);
}

int beneath_open_without_links(int directory, const char *path, int flags)
{
    return open_resolving(directory, path, flags, RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_SYMLINKS);
}
