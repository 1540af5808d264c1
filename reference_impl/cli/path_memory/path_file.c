/* SPDX-License-Identifier: BSD-2-Clause */
/* The file of the list of paths: see path_file.h. */
#include "cli/path_memory/path_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli/tree/tree_disk.h"

/* Only the process that has locked the directory writes it: what a killed one has left is overwritten. */
#define NEW_FILE_NAME "paths.json.new"
#define LOCK_ATTEMPTS 50
#define LOCK_WAIT_NS 2000000

/* ---- the directory ----------------------------------------------------------------------------------------------- */

/* 0, or -1: neither variable names an absolute path (the XDG base directory specification ignores others). */
static int parent_path(char *path, size_t capacity)
{
    const char *cache = getenv("XDG_CACHE_HOME");
    const char *home = getenv("HOME");
    int length = -1;
    if (cache != NULL && cache[0] == '/')
        length = snprintf(path, capacity, "%s", cache);
    else if (home != NULL && home[0] == '/')
        length = snprintf(path, capacity, "%s/.cache", home);
    return length > 0 && (size_t)length < capacity ? 0 : -1;
}

/* A user who is root for one command must not leave root's directories in a home directory. */
static int open_own(int at, const char *path)
{
    struct stat status;
    int fd = openat(at, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0 && (fstat(fd, &status) != 0 || status.st_uid != geteuid() || (status.st_mode & S_IWOTH) != 0)) {
        close(fd);
        errno = EPERM;
        return -1;
    }
    return fd;
}

static int make_and_open(int at, const char *path)
{
    int fd = open_own(at, path);
    if (fd >= 0 || errno != ENOENT || (mkdirat(at, path, 0700) != 0 && errno != EEXIST))
        return fd;
    return open_own(at, path);
}

int path_file_open_directory(const char **reason)
{
    char path[PATH_MAX];
    int parent;
    int fd;
    if (parent_path(path, sizeof path) != 0) {
        *reason = "neither XDG_CACHE_HOME nor HOME is set";
        return -1;
    }
    parent = make_and_open(AT_FDCWD, path);
    fd = parent < 0 ? -1 : make_and_open(parent, "netblt");
    *reason = fd >= 0 ? NULL : errno == EPERM ? "the cache directory belongs to another user" : strerror(errno);
    if (parent >= 0)
        close(parent);
    return fd;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

enum path_file_state path_file_read(int directory, path_list *all)
{
    static char text[PATH_TEXT_MAX_BYTES];
    size_t length = 0;
    ssize_t got;
    int fd = openat(directory, PATH_FILE_NAME, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    *all = (path_list){.count = 0};
    if (fd < 0)
        return errno == ELOOP ? PATH_FILE_DAMAGED : PATH_FILE_NONE;
    while ((got = read(fd, text + length, sizeof text - length)) > 0)
        length += (size_t)got;
    close(fd);
    return got == 0 && length < sizeof text && path_list_read(all, text, length) ? PATH_FILE_READ : PATH_FILE_DAMAGED;
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

static bool lock(int directory)
{
    const struct timespec wait = {.tv_nsec = LOCK_WAIT_NS};
    for (unsigned i = 0; flock(directory, LOCK_EX | LOCK_NB) != 0; i++) {
        if (errno != EWOULDBLOCK || i >= LOCK_ATTEMPTS)
            return false;
        nanosleep(&wait, NULL);
    }
    return true;
}

/* A link under the name is not followed. */
static bool replace(int directory, const char *text)
{
    int error;
    int fd;
    (void)unlinkat(directory, NEW_FILE_NAME, 0);
    fd = openat(directory, NEW_FILE_NAME, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return false;
    error = tree_disk_append(fd, text, strlen(text));
    if (close(fd) != 0 && error == 0)
        error = errno;
    if (error == 0 && renameat(directory, NEW_FILE_NAME, directory, PATH_FILE_NAME) == 0)
        return true;
    error = error != 0 ? error : errno;
    (void)unlinkat(directory, NEW_FILE_NAME, 0);
    errno = error;
    return false;
}

bool path_file_note(int directory, const path_entry *measured)
{
    path_list all;
    char *text;
    bool done;
    if (!lock(directory))
        return false;
    (void)path_file_read(directory, &all);
    path_list_note(&all, measured);
    text = path_list_write(&all, measured->measured_at);
    done = text != NULL && replace(directory, text);
    free(text);
    (void)flock(directory, LOCK_UN);
    return done;
}
