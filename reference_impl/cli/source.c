/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/source_internal.h"

static int open_path(const char *path, netblt_failure *failure)
{
    int fd;

    if (strcmp(path, "-") == 0)
        fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
    else
        fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return netblt_fail(failure, NETBLT_FAILURE_LOCAL, "cannot read %s: %s", path, strerror(errno));
    return fd;
}

static bool is_readable(int fd)
{
    int flags = fcntl(fd, F_GETFL);

    if (flags >= 0 && (flags & O_ACCMODE) == O_WRONLY)
        errno = EBADF;
    return flags >= 0 && (flags & O_ACCMODE) != O_WRONLY;
}

/* Only what can be read at any place and has a size is a file here: a terminal, a pipe, a device is a stream, and
 * so is a file that tells no size, as those in /proc. stdin may be a file that someone has read a part of: the rest is
 * ours. */
static int find_kind(source *from, netblt_failure *failure)
{
    struct stat status;

    if (!is_readable(from->fd) || fstat(from->fd, &status) != 0)
        return netblt_fail(failure, NETBLT_FAILURE_LOCAL, "cannot read %s: %s", from->name, strerror(errno));
    if (S_ISDIR(status.st_mode))
        return netblt_fail(failure, NETBLT_FAILURE_LOCAL, "%s is a directory: send one file, for instance an archive",
                           from->name);
    from->is_stream = !S_ISREG(status.st_mode) || status.st_size == 0;
    if (!from->is_stream) {
        off_t start = lseek(from->fd, 0, SEEK_CUR);

        from->start = start > 0 ? (uint64_t)start : 0;
        from->size = status.st_size > start ? (uint64_t)(status.st_size - start) : 0;
    }
    return source_check_size(from, from->size, failure);
}

int source_check_size(const source *from, uint64_t bytes, netblt_failure *failure)
{
    if (bytes > SOURCE_MAX_BYTES && !from->beyond_4g)
        return netblt_fail(failure, NETBLT_FAILURE_LOCAL,
                           "%s has more than 4294967264 bytes: an RFC 998 transfer holds 4294967296, with the SHA-256 "
                           "behind the file: split it, or give --beyond-4g at both ends",
                           from->name);
    return 0;
}

source *source_adopt(int fd, const char *name, bool beyond_4g, netblt_failure *failure)
{
    source *from = calloc(1, sizeof *from);

    if (from == NULL) {
        close(fd);
        netblt_fail(failure, NETBLT_FAILURE_LOCAL, "not enough memory");
        return NULL;
    }
    *from = (source){.name = name, .fd = fd, .beyond_4g = beyond_4g};
    if (find_kind(from, failure) != 0) {
        source_close(from);
        return NULL;
    }
    from->sum = digest_new();
    if (from->sum == NULL) {
        netblt_fail(failure, NETBLT_FAILURE_LOCAL, "cannot compute SHA-256: not enough memory, or OpenSSL forbids it");
        source_close(from);
        return NULL;
    }
    return from;
}

source *source_open(const char *path, bool beyond_4g, netblt_failure *failure)
{
    int fd = open_path(path, failure);

    return fd < 0 ? NULL : source_adopt(fd, strcmp(path, "-") == 0 ? "stdin" : path, beyond_4g, failure);
}

source *source_copy(const source *of, netblt_failure *failure)
{
    int fd = fcntl(of->fd, F_DUPFD_CLOEXEC, 3);

    if (fd < 0) {
        netblt_fail(failure, NETBLT_FAILURE_LOCAL, "cannot read %s: %s", of->name, strerror(errno));
        return NULL;
    }
    return source_adopt(fd, of->name, of->beyond_4g, failure);
}

void source_close(source *from)
{
    if (from == NULL)
        return;
    if (from->fd >= 0)
        close(from->fd);
    buffer_pool_give_back(&from->pool, from->staged);
    buffer_pool_clear(&from->pool);
    digest_free(from->sum);
    free(from);
}

uint64_t source_size(const source *from)
{
    return from->size;
}

bool source_cut(source *from, uint64_t bytes)
{
    if (from->size < bytes)
        return false;
    from->size = bytes;
    return true;
}

static bool take_staged(source *from, uint32_t capacity)
{
    if (from->staged == NULL) {
        from->staged = buffer_pool_take(&from->pool, capacity);
        from->staged_bytes = 0;
    }
    if (from->staged == NULL)
        netblt_fail(&from->failure, NETBLT_FAILURE_LOCAL,
                    "not enough memory for buffers: choose a smaller --buffer-size");
    return from->staged != NULL;
}

static enum fill fill_staged(source *from, uint32_t capacity, uint32_t *length, bool *last)
{
    if (!take_staged(from, capacity))
        return FILL_FAILED;
    return from->is_stream ? stream_source_fill(from, capacity, length, last)
                           : file_source_fill(from, capacity, length, last);
}

/* Everything up to the end of the file. */
static enum fill fill_content(source *from, uint32_t capacity, uint32_t *length, bool *last)
{
    enum fill result = fill_staged(from, capacity, length, last);

    if (result != FILL_READY)
        return result;
    digest_add(from->sum, from->staged, *length);
    from->supplied += *length;
    from->content_ended = *last;
    return FILL_READY;
}

/* What still fits of the digest, behind the content. */
static void append_digest(source *from, uint32_t capacity, uint32_t *length, bool *last)
{
    uint32_t left = DIGEST_BYTES - from->tail_supplied;
    uint32_t room = capacity - *length;
    uint32_t bytes = left < room ? left : room;

    if (from->tail_supplied == 0)
        digest_finish(from->sum, from->tail);
    memcpy(from->staged + *length, from->tail + from->tail_supplied, bytes);
    *length += bytes;
    from->tail_supplied += bytes;
    *last = from->tail_supplied == DIGEST_BYTES;
}

static enum fill fill(source *from, uint32_t capacity, uint32_t *length, bool *last)
{
    enum fill result = FILL_READY;

    *length = 0;
    if (!from->content_ended)
        result = fill_content(from, capacity, length, last);
    else if (!take_staged(from, capacity))
        result = FILL_FAILED;
    if (result == FILL_READY && from->content_ended && from->ends_in_digest)
        append_digest(from, capacity, length, last);
    return result;
}

enum netblt_send_buffer source_supply(source *from, uint64_t index, uint32_t capacity, const uint8_t **data,
                                      uint32_t *length, bool *last)
{
    (void)index; /* always the next one */
    if (from->failure.kind != NETBLT_FAILURE_NONE || fill(from, capacity, length, last) != FILL_READY)
        return NETBLT_SEND_BUFFER_WAIT;
    *data = from->staged;
    from->staged = NULL;
    return NETBLT_SEND_BUFFER_READY;
}

void source_end_in_digest(source *from, bool ends)
{
    from->ends_in_digest = ends;
}

void source_release(source *from, const uint8_t *data)
{
    buffer_pool_give_back(&from->pool, (uint8_t *)(uintptr_t)data);
}

const netblt_failure *source_failure(const source *from)
{
    return from->failure.kind == NETBLT_FAILURE_NONE ? NULL : &from->failure;
}

int source_fd(const source *from)
{
    return from->fd;
}

void source_digest(source *from, char text[DIGEST_TEXT_BYTES])
{
    digest_finish_text(from->sum, text);
}
