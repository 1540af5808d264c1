/* SPDX-License-Identifier: BSD-2-Clause */
/* The place of a received file in its directory: see place.h. */
#include "cli/store/place.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/process/signals.h"

#define TEMPORARY_PREFIX ".netblt-"
/* A temporary name may be taken again between the moments in which it is found stale and in which it is used. */
#define NAME_TRIES 4

/* ---- temporary names ------------------------------------------------------------------------------------------ */

/* ".NAME.netblt-XXXXXXXX" was the form of earlier versions. */
bool place_is_temporary_name(const char *name)
{
    return name[0] == '.' && strstr(name, TEMPORARY_PREFIX) != NULL;
}

static void name_temporary(unsigned number, char name[PLACE_TEMPORARY_NAME_BYTES])
{
    snprintf(name, PLACE_TEMPORARY_NAME_BYTES, TEMPORARY_PREFIX "%u", number);
}

/* False when another process holds the lock. A file system without locks locks nothing, and then nothing is stale. */
static bool lock(int fd)
{
    return flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
}

static bool is_named(int fd, int dir_fd, const char *name)
{
    struct stat held;
    struct stat named;
    return fstat(fd, &held) == 0 && fstatat(dir_fd, name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
           held.st_dev == named.st_dev && held.st_ino == named.st_ino;
}

/* The lock needs an open file, on network file systems one that is open for writing. */
static int open_plain_file(int dir_fd, const char *name)
{
    struct stat status;
    int fd;
    if (fstatat(dir_fd, name, &status, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(status.st_mode))
        return -1;
    fd = openat(dir_fd, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0 && errno == EACCES)
        fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    return fd;
}

/* Only who has the lock may rename or unlink a temporary name, so it cannot change between the last two steps. */
static bool remove_if_stale(int dir_fd, const char *name)
{
    int fd = open_plain_file(dir_fd, name);
    bool removed;
    if (fd < 0)
        return false;
    removed = flock(fd, LOCK_EX | LOCK_NB) == 0 && is_named(fd, dir_fd, name) && unlinkat(dir_fd, name, 0) == 0;
    close(fd);
    return removed;
}

void place_remove_stale(int dir_fd)
{
    char name[PLACE_TEMPORARY_NAME_BYTES];
    for (unsigned i = 0; i < PLACE_TEMPORARY_NAMES; i++) {
        name_temporary(i, name);
        remove_if_stale(dir_fd, name);
    }
}

/* Calls `take` with temporary names until one is free. 0, or -1 with errno. */
static int take_temporary_name(file_place *at, int (*take)(file_place *at, const char *name))
{
    char name[PLACE_TEMPORARY_NAME_BYTES];
    for (unsigned i = 0; i < PLACE_TEMPORARY_NAMES; i++) {
        name_temporary(i, name);
        for (unsigned tries = 0; tries < NAME_TRIES; tries++) {
            if (take(at, name) == 0) {
                memcpy(at->temporary, name, sizeof name);
                return 0;
            }
            if (errno != EEXIST)
                return -1;
            if (!remove_if_stale(at->dir_fd, name))
                break;
        }
    }
    errno = EBUSY;
    return -1;
}

/* ---- the file without its name --------------------------------------------------------------------------------- */

#define OWN_NAME_BYTES 40

/* Where /proc shows our nameless file: the only way to link it without privileges. */
static const char *own_name(int fd, char name[OWN_NAME_BYTES])
{
    snprintf(name, OWN_NAME_BYTES, "/proc/self/fd/%d", fd);
    return name;
}

/* As the file would be if it were created or overwritten in the ordinary way. */
static mode_t find_mode(const file_place *at)
{
    struct stat status;
    mode_t mask;
    if (fstatat(at->dir_fd, at->target, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(status.st_mode))
        return status.st_mode & 0777;
    mask = umask(0);
    umask(mask);
    return 0666 & ~mask;
}

static bool open_nameless(file_place *at)
{
    char own[OWN_NAME_BYTES];
    int fd = openat(at->dir_fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd < 0)
        return false;
    if (access(own_name(fd, own), F_OK) != 0) { /* without /proc it could never get a name */
        close(fd);
        return false;
    }
    at->fd = fd;
    return true;
}

/* A process that removes stale files may take the new file for one until it is locked: then it is another's turn. */
static int create_temporary(file_place *at, const char *name)
{
    int fd = openat(at->dir_fd, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return -1;
    if (!lock(fd) || !is_named(fd, at->dir_fd, name)) {
        close(fd);
        errno = EEXIST;
        return -1;
    }
    at->fd = fd;
    return 0;
}

/* False with errno. */
static bool open_named(file_place *at)
{
    static char early_path[PATH_MAX];
    if (take_temporary_name(at, create_temporary) != 0)
        return false;
    if (at->dir != NULL) {
        snprintf(early_path, sizeof early_path, "%s/%s", at->dir, at->temporary);
        signals_remove_early(early_path);
    }
    return true;
}

/* A name that the file system does not take is better detected before anything arrives. So is a directory that was
 * removed: tmpfs makes nameless files in it, and refuses only to name them. False with errno. */
static bool is_name_possible(const file_place *at)
{
    struct stat directory;
    if (fstat(at->dir_fd, &directory) != 0)
        return false;
    if (directory.st_nlink == 0) {
        errno = ENOENT;
        return false;
    }
    return faccessat(at->dir_fd, at->target, F_OK, AT_SYMLINK_NOFOLLOW) == 0 || errno == ENOENT;
}

file_place *place_begin(int dir_fd, const char *dir, const char *target, bool replace, bool sync)
{
    file_place *at = calloc(1, sizeof *at);
    int error;
    if (at == NULL) {
        close(dir_fd);
        errno = ENOMEM;
        return NULL;
    }
    *at = (file_place){.dir_fd = dir_fd, .target = strdup(target), .replace = replace, .sync = sync, .fd = -1};
    at->dir = dir == NULL ? NULL : strdup(dir);
    errno = ENOMEM;
    if (at->target != NULL && (dir == NULL || at->dir != NULL) && is_name_possible(at) &&
        (open_nameless(at) || open_named(at))) {
        if (fchmod(at->fd, find_mode(at)) != 0) /* some file systems have no modes */
            errno = 0;
        return at;
    }
    error = errno;
    place_end(at);
    errno = error;
    return NULL;
}

void place_end(file_place *at)
{
    if (at == NULL)
        return;
    if (at->temporary[0] != '\0')
        unlinkat(at->dir_fd, at->temporary, 0);
    if (at->fd >= 0)
        close(at->fd);
    close(at->dir_fd);
    free(at->dir);
    free(at->target);
    free(at);
}

int place_find_lost(const file_place *at)
{
    struct stat named;
    struct stat held;
    if (at->temporary[0] != '\0' && faccessat(at->dir_fd, at->temporary, F_OK, AT_SYMLINK_NOFOLLOW) != 0)
        return errno;
    if (fstat(at->dir_fd, &held) != 0)
        return errno;
    if (at->dir == NULL)
        return held.st_nlink == 0 ? ENOENT : 0;
    if (stat(at->dir, &named) != 0)
        return errno;
    return named.st_dev == held.st_dev && named.st_ino == held.st_ino ? 0 : ENOENT;
}

/* ---- the end --------------------------------------------------------------------------------------------------- */

/* 0, or an errno value. EINVAL: the file system has nothing to sync. */
static int sync_fd(int fd)
{
    return fsync(fd) == 0 || errno == EINVAL ? 0 : errno;
}

int place_sync(file_place *at)
{
    return at->sync ? sync_fd(at->fd) : 0;
}

/* A directory that may be written and not read cannot be opened to be synced; then its whole file system is. */
static int sync_directory(const file_place *at)
{
    int fd = openat(at->dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int error;
    if (fd < 0)
        return syncfs(at->fd) == 0 ? 0 : errno;
    error = sync_fd(fd);
    close(fd);
    return error;
}

static int link_as(file_place *at, const char *name)
{
    char own[OWN_NAME_BYTES];
    return linkat(AT_FDCWD, own_name(at->fd, own), at->dir_fd, name, AT_SYMLINK_FOLLOW);
}

/* File systems that cannot rename without replacing can often link, which replaces nothing. */
static int rename_without_replacing(const file_place *at)
{
    if (renameat2(at->dir_fd, at->temporary, at->dir_fd, at->target, RENAME_NOREPLACE) == 0)
        return 0;
    if (errno != EINVAL)
        return -1;
    if (linkat(at->dir_fd, at->temporary, at->dir_fd, at->target, 0) != 0)
        return -1;
    return unlinkat(at->dir_fd, at->temporary, 0);
}

static int rename_to_target(file_place *at)
{
    int result =
        at->replace ? renameat(at->dir_fd, at->temporary, at->dir_fd, at->target) : rename_without_replacing(at);
    if (result == 0)
        at->temporary[0] = '\0';
    return result;
}

/* -1 with errno. */
static int give_name(file_place *at)
{
    if (at->temporary[0] != '\0')
        return rename_to_target(at);
    if (link_as(at, at->target) == 0)
        return 0;
    if (errno != EEXIST || !at->replace)
        return -1;
    if (!lock(at->fd)) { /* no other process can have opened it */
        errno = EBUSY;
        return -1;
    }
    return take_temporary_name(at, link_as) == 0 ? rename_to_target(at) : -1;
}

int place_settle(file_place *at)
{
    int lost = place_find_lost(at);
    if (lost != 0)
        return lost;
    if (give_name(at) != 0)
        return errno;
    at->named = true;
    return at->sync ? sync_directory(at) : 0;
}
