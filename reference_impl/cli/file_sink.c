/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/signals.h"
#include "cli/sink_internal.h"
#include "io/entropy.h"

/* What is read back at once to hash a buffer that came early. */
#define READ_BACK_BYTES 65536

/* A file without a name in the target's directory (O_TMPFILE): whatever happens to us, nothing of it remains. File
 * systems that cannot do so get ".NAME.netblt-XXXXXX". */
struct file_sink {
    sink base;
    int dir_fd;
    char *dir;       /* the directory's path; NULL when only dir_fd counts */
    char *target;    /* name in the directory; symbolic links were followed */
    char *temporary; /* name in the directory; NULL while there is none */
    bool replace;    /* a file that has the target's name gives way */
    uint64_t size;
    /* SHA-256 takes bytes in order, buffers do not come so: those before `hashed` are in, of the others `written`
     * remembers which have come (bit index % 8 of byte index / 8). Every buffer but the last is full. */
    uint64_t hashed;
    uint8_t *written;
    size_t written_bytes;
};

static struct file_sink *file_of(sink *to)
{
    return (struct file_sink *)(void *)to;
}

/* ---- which buffers have come ---------------------------------------------------------------------------------- */

static bool has_come(const struct file_sink *file, uint64_t index)
{
    return index / 8 < file->written_bytes && (file->written[index / 8] >> (index % 8) & 1) != 0;
}

static bool mark_come(struct file_sink *file, uint64_t index)
{
    size_t needed = (size_t)(index / 8) + 1;

    if (needed > file->written_bytes) {
        size_t bytes = needed * 2;
        uint8_t *written = realloc(file->written, bytes);

        if (written == NULL)
            return false;
        memset(written + file->written_bytes, 0, bytes - file->written_bytes);
        file->written = written;
        file->written_bytes = bytes;
    }
    file->written[index / 8] |= (uint8_t)(1u << (index % 8));
    return true;
}

/* ---- writing -------------------------------------------------------------------------------------------------- */

static bool write_at(sink *to, const uint8_t *data, uint32_t length, uint64_t offset)
{
    uint32_t done = 0;

    while (done < length) {
        ssize_t written = pwrite(to->fd, data + done, length - done, (off_t)(offset + done));

        if (written > 0) {
            done += (uint32_t)written;
        } else if (written == 0 || errno != EINTR) {
            sink_write_failed(to, written == 0 ? EIO : errno);
            return false;
        }
    }
    return true;
}

/* Hashes the bytes from `offset` to `end` as they are in the file. */
static bool hash_back(sink *to, uint64_t offset, uint64_t end)
{
    uint8_t bytes[READ_BACK_BYTES];

    while (offset < end) {
        size_t wanted = end - offset < sizeof bytes ? (size_t)(end - offset) : sizeof bytes;
        ssize_t got = pread(to->fd, bytes, wanted, (off_t)offset);

        if (got > 0) {
            digest_add(to->sum, bytes, (size_t)got);
            offset += (uint64_t)got;
        } else if (got == 0 || errno != EINTR) {
            sink_write_failed(to, got == 0 ? EIO : errno);
            return false;
        }
    }
    return true;
}

/* `data` is buffer `hashed` and still in memory; buffers that came before it and follow it are read back. */
static void hash_from(sink *to, const uint8_t *data, uint32_t length)
{
    struct file_sink *file = file_of(to);
    uint64_t from;
    uint64_t end;

    digest_add(to->sum, data, length);
    from = ++file->hashed;
    while (has_come(file, file->hashed))
        file->hashed++;
    end = file->hashed * to->buffer_bytes;
    hash_back(to, from * to->buffer_bytes, end < file->size ? end : file->size);
}

/* A file that cannot get its name in the end, as its directory was removed or moved, could only fail when the sender
 * knows of success: better now. 0, or an errno value. */
static int find_place_lost(const struct file_sink *file)
{
    struct stat named;
    struct stat held;

    if (file->temporary != NULL && faccessat(file->dir_fd, file->temporary, F_OK, 0) != 0)
        return errno;
    if (fstat(file->dir_fd, &held) != 0)
        return errno;
    if (file->dir == NULL)
        return held.st_nlink == 0 ? ENOENT : 0;
    if (stat(file->dir, &named) != 0)
        return errno;
    return named.st_dev == held.st_dev && named.st_ino == held.st_ino ? 0 : ENOENT;
}

static void file_deliver(sink *to, uint64_t index, uint8_t *data, uint32_t length)
{
    struct file_sink *file = file_of(to);
    uint64_t offset = index * to->buffer_bytes;
    int lost = find_place_lost(file);

    if (lost != 0) {
        sink_write_failed(to, lost);
    } else if (write_at(to, data, length, offset)) {
        if (offset + length > file->size)
            file->size = offset + length;
        if (!mark_come(file, index))
            sink_write_failed(to, ENOMEM);
        else if (index == file->hashed)
            hash_from(to, data, length);
    }
    sink_discard(to, data);
}

static bool file_flush(sink *to)
{
    (void)to;
    return true;
}

/* ---- names ---------------------------------------------------------------------------------------------------- */

#define OWN_NAME_BYTES 40

/* Where /proc shows our nameless file: the only way to link it without privileges. */
static const char *own_name(int fd, char name[OWN_NAME_BYTES])
{
    snprintf(name, OWN_NAME_BYTES, "/proc/self/fd/%d", fd);
    return name;
}

static char *name_temporary(const char *target)
{
    char *name = NULL;

    return asprintf(&name, ".%.200s.netblt-%08x", target, netblt_random_u32()) < 0 ? NULL : name;
}

#define NAME_TRIES 100

/* Gives the nameless file a name that can be renamed over the target's: linkat() itself replaces nothing. */
static int link_beside(struct file_sink *file)
{
    char own[OWN_NAME_BYTES];

    for (unsigned i = 0; i < NAME_TRIES; i++) {
        char *name = name_temporary(file->target);

        if (name == NULL)
            return -1;
        if (linkat(AT_FDCWD, own_name(file->base.fd, own), file->dir_fd, name, AT_SYMLINK_FOLLOW) == 0) {
            file->temporary = name;
            return 0;
        }
        free(name);
        if (errno != EEXIST)
            return -1;
    }
    return -1;
}

static int rename_to_target(struct file_sink *file)
{
    int result = file->replace ? renameat(file->dir_fd, file->temporary, file->dir_fd, file->target)
                               : renameat2(file->dir_fd, file->temporary, file->dir_fd, file->target, RENAME_NOREPLACE);

    if (result != 0)
        return -1;
    free(file->temporary);
    file->temporary = NULL;
    return 0;
}

static int give_name(struct file_sink *file)
{
    char own[OWN_NAME_BYTES];

    if (file->temporary != NULL)
        return rename_to_target(file);
    if (linkat(AT_FDCWD, own_name(file->base.fd, own), file->dir_fd, file->target, AT_SYMLINK_FOLLOW) == 0)
        return 0;
    if (errno != EEXIST || !file->replace || link_beside(file) != 0)
        return -1;
    return rename_to_target(file);
}

static int file_commit(sink *to)
{
    int fd = to->fd;
    int error = give_name(file_of(to)) != 0 ? errno : 0;

    to->fd = -1;
    if (close(fd) != 0 && error == 0)
        error = errno;
    if (error != 0)
        sink_write_failed(to, error);
    return error == 0 ? 0 : -1;
}

static void file_close(sink *to)
{
    struct file_sink *file = file_of(to);

    if (file->temporary != NULL)
        unlinkat(file->dir_fd, file->temporary, 0);
    if (file->dir_fd >= 0)
        close(file->dir_fd);
    free(file->temporary);
    free(file->target);
    free(file->dir);
    free(file->written);
}

/* As the file would be if it were created or overwritten in the ordinary way. */
static mode_t find_mode(const struct file_sink *file)
{
    struct stat status;
    mode_t mask;

    if (fstatat(file->dir_fd, file->target, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(status.st_mode))
        return status.st_mode & 0777;
    mask = umask(0);
    umask(mask);
    return 0666 & ~mask;
}

static bool open_nameless(struct file_sink *file)
{
    char own[OWN_NAME_BYTES];
    int fd = openat(file->dir_fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

    if (fd < 0)
        return false;
    if (access(own_name(fd, own), F_OK) != 0) { /* without /proc it could never get a name */
        close(fd);
        return false;
    }
    file->base.fd = fd;
    return true;
}

/* False with errno. */
static bool open_named(struct file_sink *file)
{
    static char early_path[PATH_MAX];

    for (unsigned i = 0; i < NAME_TRIES && file->base.fd < 0; i++) {
        free(file->temporary);
        file->temporary = name_temporary(file->target);
        if (file->temporary == NULL)
            return false;
        file->base.fd = openat(file->dir_fd, file->temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (file->base.fd < 0 && errno != EEXIST)
            break;
    }
    if (file->base.fd < 0) {
        free(file->temporary);
        file->temporary = NULL;
        return false;
    }
    if (file->dir != NULL) {
        snprintf(early_path, sizeof early_path, "%s/%s", file->dir, file->temporary);
        signals_remove_early(early_path);
    }
    return true;
}

/* A name that the file system does not take must not be found out at the end, when the sender knows of success. Nor
 * must a directory that was removed: tmpfs makes nameless files in it, and refuses only to name them. False with errno.
 */
static bool is_name_possible(const struct file_sink *file)
{
    struct stat directory;

    if (fstat(file->dir_fd, &directory) != 0)
        return false;
    if (directory.st_nlink == 0) {
        errno = ENOENT;
        return false;
    }
    return faccessat(file->dir_fd, file->target, F_OK, AT_SYMLINK_NOFOLLOW) == 0 || errno == ENOENT;
}

static int create_temporary(struct file_sink *file, netblt_failure *failure)
{
    if (!is_name_possible(file))
        return netblt_fail(failure, NETBLT_FAILURE_LOCAL, "cannot write %s: %s", file->base.name, strerror(errno));
    if (!open_nameless(file) && !open_named(file))
        return netblt_fail(failure, NETBLT_FAILURE_LOCAL,
                           "cannot write %s: %s; its directory must exist and be writable", file->base.name,
                           strerror(errno));
    if (fchmod(file->base.fd, find_mode(file)) != 0) /* some file systems have no modes */
        errno = 0;
    return 0;
}

static const sink_ops file_ops = {
    .deliver = file_deliver,
    .flush = file_flush,
    .commit = file_commit,
    .close = file_close,
};

/* Takes over dir_fd, dir and target. */
static sink *open_in(int dir_fd, char *dir, char *target, bool replace, const char *name, netblt_failure *failure)
{
    sink *to = sink_new(sizeof(struct file_sink), &file_ops, name, failure);

    if (to == NULL) {
        close(dir_fd);
        free(dir);
        free(target);
        return NULL;
    }
    to->any_order = true;
    file_of(to)->dir_fd = dir_fd;
    file_of(to)->dir = dir;
    file_of(to)->target = target;
    file_of(to)->replace = replace;
    if (create_temporary(file_of(to), failure) != 0) {
        sink_close(to);
        return NULL;
    }
    return to;
}

sink *file_sink_open_at(int dir_fd, const char *target, bool replace, const char *name, netblt_failure *failure)
{
    char *copy = strdup(target);

    if (copy == NULL) {
        close(dir_fd);
        netblt_fail(failure, NETBLT_FAILURE_LOCAL, "not enough memory");
        return NULL;
    }
    return open_in(dir_fd, NULL, copy, replace, name, failure);
}

/* The place that the bytes will go to, or NULL with *failure. A link is followed, so that it stays a link. */
static char *find_target(const char *path, netblt_failure *failure)
{
    struct stat status;
    char *real = realpath(path, NULL);

    if (path[0] == '\0' || path[strlen(path) - 1] == '/' ||
        (real != NULL && stat(real, &status) == 0 && S_ISDIR(status.st_mode)))
        netblt_fail(failure, NETBLT_FAILURE_LOCAL, "%s is a directory: name the file to write", path);
    else if (real == NULL && lstat(path, &status) == 0 && S_ISLNK(status.st_mode))
        netblt_fail(failure, NETBLT_FAILURE_LOCAL, "cannot write %s: it is a link that leads nowhere", path);
    else if (real != NULL && access(real, W_OK) != 0)
        netblt_fail(failure, NETBLT_FAILURE_LOCAL, "cannot write %s: %s", path, strerror(errno));
    else
        return real != NULL ? real : strdup(path);
    free(real);
    return NULL;
}

sink *file_sink_open(const char *path, netblt_failure *failure)
{
    char *target = find_target(path, failure);
    char *slash = target == NULL ? NULL : strrchr(target, '/');
    char *dir;
    char *base;
    int dir_fd;

    if (target == NULL)
        return NULL;
    dir = slash == NULL ? strdup(".") : slash == target ? strdup("/") : strndup(target, (size_t)(slash - target));
    base = strdup(slash == NULL ? target : slash + 1);
    free(target);
    dir_fd = dir == NULL || base == NULL ? -1 : open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (dir_fd < 0) {
        netblt_fail(failure, NETBLT_FAILURE_LOCAL, "cannot write %s: %s; its directory must exist and be writable",
                    path, strerror(errno));
        free(dir);
        free(base);
        return NULL;
    }
    return open_in(dir_fd, dir, base, true, path, failure);
}
