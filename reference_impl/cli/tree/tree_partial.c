/* SPDX-License-Identifier: BSD-2-Clause */
/* The partial directory of a target: see tree_partial.h. */
#include "cli/tree/tree_partial.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli/tree/tree_disk.h"

#define PREFIX PARTIAL_RESERVED_PREFIX "partial-"
#define ID_BYTES 8
#define SECONDS_A_DAY 86400
/* One may be removed between the moments in which it is opened and locked. */
#define OPEN_TRIES 16

/* ---- names ----------------------------------------------------------------------------------------------------- */

static void add_hex(char *to, const uint8_t *bytes, size_t length)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < length; i++) {
        *to++ = digits[bytes[i] >> 4];
        *to++ = digits[bytes[i] & 15];
    }
    *to = '\0';
}

void tree_partial_name(const char *target, char name[PARTIAL_NAME_BYTES])
{
    uint8_t hash[PIECE_HASH_BYTES];
    size_t prefix = strlen(PREFIX);
    blake3_of(target == NULL ? "" : target, target == NULL ? 0 : strlen(target), hash);
    snprintf(name, PARTIAL_NAME_BYTES, "%s", PREFIX);
    add_hex(name + prefix, hash, ID_BYTES);
}

void tree_partial_key_name(const tree_key *key, char name[PARTIAL_KEY_NAME_BYTES])
{
    add_hex(name, key->bytes, sizeof key->bytes);
}

bool tree_partial_parse_key(const char *name, tree_key *key)
{
    static const char digits[] = "0123456789abcdef";
    if (strlen(name) != 2 * sizeof key->bytes || strspn(name, digits) != 2 * sizeof key->bytes)
        return false;
    for (size_t i = 0; i < sizeof key->bytes; i++) {
        size_t high = strcspn(digits, (const char[]){name[2 * i], '\0'});
        size_t low = strcspn(digits, (const char[]){name[2 * i + 1], '\0'});
        key->bytes[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

/* ---- visiting -------------------------------------------------------------------------------------------------- */

int tree_partial_visit(int dir, void (*visit)(void *context, const char *name), void *context)
{
    int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *names = fd < 0 ? NULL : fdopendir(fd);
    const struct dirent *next;
    int error;
    if (names == NULL) {
        error = errno;
        if (fd >= 0)
            close(fd);
        return error;
    }
    errno = 0;
    while ((next = readdir(names)) != NULL) {
        if (strcmp(next->d_name, ".") != 0 && strcmp(next->d_name, "..") != 0)
            visit(context, next->d_name);
        errno = 0;
    }
    error = errno;
    closedir(names);
    return error;
}

static void remove_file(void *context, const char *name)
{
    const int *dir = context;
    unlinkat(*dir, name, 0);
}

int tree_partial_clear(int dir)
{
    return tree_partial_visit(dir, remove_file, &dir);
}

/* ---- opening --------------------------------------------------------------------------------------------------- */

static bool is_named(int fd, int parent, const char *name)
{
    struct stat held;
    struct stat named;
    return fstat(fd, &held) == 0 && fstatat(parent, name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
           held.st_dev == named.st_dev && held.st_ino == named.st_ino;
}

/* What another user put there could hold anything, under any hash. */
static bool is_ours(int fd)
{
    struct stat status;
    return fstat(fd, &status) == 0 && status.st_uid == geteuid() && fchmod(fd, 0700) == 0;
}

bool tree_partial_exists(int parent, const char *target)
{
    char name[PARTIAL_NAME_BYTES];
    struct stat status;
    tree_partial_name(target, name);
    return fstatat(parent, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(status.st_mode);
}

/* A descriptor with the lock; -1 with errno: EWOULDBLOCK when another process has it, EAGAIN to try again. */
static int open_locked(int parent, const char *name)
{
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    int error;
    if (fd < 0)
        return -1;
    if (flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        error = EBUSY;
    else if (!is_named(fd, parent, name))
        error = EAGAIN;
    else if (!is_ours(fd))
        error = EPERM;
    else
        return fd;
    close(fd);
    errno = error;
    return -1;
}

static const char *explain(int error)
{
    switch (error) {
    case EBUSY:
        return "another transfer stores the same";
    case EPERM:
    case ELOOP:
    case ENOTDIR:
        return "its directory for incomplete files (.netblt-partial-...) is not ours";
    default:
        return strerror(error);
    }
}

int tree_partial_open(int parent, const char *target, netblt_failure *failure)
{
    char name[PARTIAL_NAME_BYTES];
    int fd = -1;
    tree_partial_name(target, name);
    for (unsigned i = 0; i < OPEN_TRIES && fd < 0; i++) {
        fd = open_locked(parent, name);
        if (fd < 0 && errno == ENOENT && mkdirat(parent, name, 0700) != 0 && errno != EEXIST)
            break;
        if (fd < 0 && errno != ENOENT && errno != EEXIST && errno != EAGAIN)
            break;
    }
    if (fd < 0)
        netblt_fail(failure, NETBLT_FAILURE_LOCAL, "cannot store %s: %s", target == NULL ? "files" : target,
                    explain(errno));
    return fd;
}

int tree_partial_remove(int parent, const char *target, int dir)
{
    char name[PARTIAL_NAME_BYTES];
    int error = tree_partial_clear(dir);
    tree_partial_name(target, name);
    if (unlinkat(parent, name, AT_REMOVEDIR) != 0 && errno != ENOENT)
        return errno;
    return error;
}

/* ---- expiry ---------------------------------------------------------------------------------------------------- */

/* Its journal is written whenever something is stored. */
static bool is_expired(int dir)
{
    struct stat status;
    struct stat journal;
    time_t newest;
    if (fstat(dir, &status) != 0)
        return false;
    newest = status.st_mtime;
    if (fstatat(dir, "journal", &journal, AT_SYMLINK_NOFOLLOW) == 0 && journal.st_mtime > newest)
        newest = journal.st_mtime;
    return time(NULL) - newest > (time_t)PARTIAL_EXPIRY_DAYS * SECONDS_A_DAY;
}

static void expire(void *context, const char *name)
{
    const int *parent = context;
    int fd;
    if (strncmp(name, PREFIX, strlen(PREFIX)) != 0)
        return;
    fd = open_locked(*parent, name);
    if (fd < 0)
        return;
    if (is_expired(fd)) {
        tree_partial_clear(fd);
        unlinkat(*parent, name, AT_REMOVEDIR);
    }
    close(fd);
}

void tree_partial_expire(int parent)
{
    (void)tree_partial_visit(parent, expire, &parent);
}

/* ---- small files ----------------------------------------------------------------------------------------------- */

int tree_partial_save(int dir, const char *name, const uint8_t *bytes, size_t length)
{
    int error;
    int fd;
    unlinkat(dir, PARTIAL_NEW, 0);
    fd = openat(dir, PARTIAL_NEW, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return errno;
    error = tree_disk_append(fd, bytes, length);
    if (close(fd) != 0 && error == 0)
        error = errno;
    if (error == 0 && renameat(dir, PARTIAL_NEW, dir, name) != 0)
        error = errno;
    return error;
}

uint8_t *tree_partial_load(int dir, const char *name, uint64_t most, size_t *length)
{
    struct stat status;
    uint8_t *bytes = NULL;
    int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    int error;
    if (fd < 0)
        return NULL;
    errno = EFBIG;
    if (fstat(fd, &status) == 0 && (uint64_t)status.st_size <= most) {
        *length = (size_t)status.st_size;
        bytes = malloc(*length == 0 ? 1 : *length);
    }
    error = bytes == NULL ? errno : tree_disk_read(fd, bytes, *length, 0);
    if (bytes != NULL && error != 0) {
        free(bytes);
        bytes = NULL;
        errno = error;
    }
    close(fd);
    return bytes;
}
