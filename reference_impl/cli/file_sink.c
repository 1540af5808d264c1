/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/sink_internal.h"

/* What is read back at once to hash a buffer that came early. */
#define READ_BACK_BYTES 65536

struct file_sink {
    sink base;
    char *target;    /* symbolic links followed */
    char *temporary; /* beside it; NULL once it is the target or gone */
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

static void file_deliver(sink *to, uint64_t index, uint8_t *data, uint32_t length)
{
    struct file_sink *file = file_of(to);
    uint64_t offset = index * to->buffer_bytes;

    /* A file that has lost its name, as its directory was removed or moved, could only fail at the end, when the sender
     * knows of success. */
    if (access(file->temporary, F_OK) != 0) {
        sink_write_failed(to, errno);
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

static int file_commit(sink *to)
{
    struct file_sink *file = file_of(to);
    int fd = to->fd;

    to->fd = -1;
    if (close(fd) != 0 || rename(file->temporary, file->target) != 0) {
        sink_write_failed(to, errno);
        return -1;
    }
    free(file->temporary);
    file->temporary = NULL;
    return 0;
}

static void file_close(sink *to)
{
    struct file_sink *file = file_of(to);

    if (file->temporary != NULL)
        unlink(file->temporary);
    free(file->temporary);
    free(file->target);
    free(file->written);
}

/* The place that the bytes will go to, or NULL with *failure. A link is followed, so that it stays a link. */
static char *find_target(const char *path, netblt_failure *failure)
{
    struct stat status;
    char *real = realpath(path, NULL);

    if (path[0] == '\0' || path[strlen(path) - 1] == '/' ||
        (real != NULL && stat(real, &status) == 0 && S_ISDIR(status.st_mode)))
        netblt_fail(failure, NETBLT_FAILURE_LOCAL, "%s is a directory: name the file to write", path);
    else if (real != NULL && access(real, W_OK) != 0)
        netblt_fail(failure, NETBLT_FAILURE_LOCAL, "cannot write %s: %s", path, strerror(errno));
    else
        return real != NULL ? real : strdup(path);
    free(real);
    return NULL;
}

/* ".NAME.netblt-XXXXXX" in the target's directory: only there a rename is atomic. */
static char *name_temporary(const char *target)
{
    const char *slash = strrchr(target, '/');
    const char *base = slash == NULL ? target : slash + 1;
    char *name = NULL;

    if (asprintf(&name, "%.*s.%.200s.netblt-XXXXXX", (int)(base - target), target, base) < 0)
        return NULL;
    return name;
}

/* As the file would be if it were created or overwritten in the ordinary way. */
static mode_t find_mode(const char *target)
{
    struct stat status;
    mode_t mask;

    if (stat(target, &status) == 0)
        return status.st_mode & 0777;
    mask = umask(0);
    umask(mask);
    return 0666 & ~mask;
}

static int create_temporary(struct file_sink *file, const char *path, netblt_failure *failure)
{
    file->temporary = name_temporary(file->target);
    if (file->temporary != NULL)
        file->base.fd = mkostemp(file->temporary, O_CLOEXEC);
    if (file->base.fd < 0) {
        netblt_fail(failure, NETBLT_FAILURE_LOCAL, "cannot write %s: %s; its directory must exist and be writable",
                    path, strerror(errno));
        free(file->temporary);
        file->temporary = NULL;
        return -1;
    }
    if (fchmod(file->base.fd, find_mode(file->target)) != 0) /* some file systems have no modes */
        errno = 0;
    return 0;
}

static const sink_ops file_ops = {
    .deliver = file_deliver,
    .flush = file_flush,
    .commit = file_commit,
    .close = file_close,
};

sink *file_sink_open(const char *path, netblt_failure *failure)
{
    sink *to = sink_new(sizeof(struct file_sink), &file_ops, path, failure);

    if (to == NULL)
        return NULL;
    to->any_order = true;
    file_of(to)->target = find_target(path, failure);
    if (file_of(to)->target == NULL || create_temporary(file_of(to), path, failure) != 0) {
        sink_close(to);
        return NULL;
    }
    return to;
}
