/* SPDX-License-Identifier: BSD-2-Clause */
/* Where a sender's bytes come from: see source.h. */
#include "cli/store/source.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct source {
    const char *name;
    int fd;
    bool is_stream;
    bool beyond_4g;
    uint64_t start;    /* of a file: the place of its first byte that is sent */
    uint64_t size;     /* of a file, from there; 0 for a stream */
    uint64_t supplied; /* bytes that went to the core, the digest not counted */
    buffer_pool pool;
    digest *sum;
    bool ends_in_digest;
    bool content_ended;     /* all bytes but the digest went to the core */
    uint32_t tail_supplied; /* bytes of the digest that went to the core */
    netblt_failure failure;
    uint8_t *staged;       /* the buffer being filled; NULL = none */
    uint32_t staged_bytes; /* in it so far */
    bool at_end;           /* nothing more can be read */
    bool has_carry;        /* a stream's byte for the next buffer, which was read to learn whether there is one */
    uint8_t carry;
};

/* ---- opening ---------------------------------------------------------------------------------------------------- */

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

/* 0, or -1 with *failure. */
static int check_size(const source *from, uint64_t bytes, netblt_failure *failure)
{
    if (bytes > SOURCE_MAX_BYTES && !from->beyond_4g)
        return netblt_fail(failure, NETBLT_FAILURE_LOCAL,
                           "%s has more than 4294967264 bytes: an RFC 998 transfer holds 4294967296, with the SHA-256 "
                           "after the file: split it, or give --beyond-4g at both ends",
                           from->name);
    return 0;
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
    return check_size(from, from->size, failure);
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
    from->sum = digest_new(failure);
    if (from->sum != NULL && find_kind(from, failure) == 0)
        return from;
    source_close(from);
    return NULL;
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
    close(from->fd);
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

/* ---- buffers ---------------------------------------------------------------------------------------------------- */

/* A stream's buffer has room for the byte that follows it. */
static bool take_staged(source *from, uint32_t capacity)
{
    if (from->staged != NULL)
        return true;
    from->staged = buffer_pool_take(&from->pool, (size_t)capacity + 1);
    from->staged_bytes = 0;
    if (from->staged == NULL)
        netblt_fail(&from->failure, NETBLT_FAILURE_LOCAL,
                    "not enough memory for buffers: choose a smaller --buffer-size");
    return from->staged != NULL;
}

/* stdin may be shared with other processes, so it is not made non-blocking: asking first does as well, since a read
 * returns what is there. */
static bool would_block(const source *from)
{
    struct pollfd ready = {.fd = from->fd, .events = POLLIN};
    return from->is_stream && poll(&ready, 1, 0) == 0;
}

/* Reads up to `room` bytes. False when there are none yet, or with source.failure. */
static bool read_some(source *from, uint32_t room)
{
    uint8_t *to = from->staged + from->staged_bytes;
    ssize_t count;
    if (would_block(from))
        return false;
    do {
        count = from->is_stream ? read(from->fd, to, room)
                                : pread(from->fd, to, room, (off_t)(from->start + from->supplied + from->staged_bytes));
    } while (count < 0 && errno == EINTR);
    if (count < 0 && errno != EAGAIN)
        netblt_fail(&from->failure, NETBLT_FAILURE_LOCAL, "cannot read %s: %s", from->name, strerror(errno));
    if (count < 0)
        return false;
    from->staged_bytes += (uint32_t)count;
    from->at_end = count == 0;
    return true;
}

static bool fill_up(source *from, uint32_t wanted)
{
    if (from->staged_bytes == 0 && from->has_carry) {
        from->staged[from->staged_bytes++] = from->carry;
        from->has_carry = false;
    }
    while (!from->at_end && from->staged_bytes < wanted)
        if (!read_some(from, wanted - from->staged_bytes))
            return false;
    return true;
}

/* Whether a full buffer is the last one shows only by one byte more, or none (an extra empty buffer is legal and ugly:
 * AMB-41, AMB-42). */
static bool fill_from_stream(source *from, uint32_t capacity, bool *last)
{
    if (!fill_up(from, capacity + 1) || check_size(from, from->supplied + from->staged_bytes, &from->failure) != 0)
        return false;
    *last = from->at_end;
    if (from->staged_bytes > capacity) {
        from->has_carry = true;
        from->carry = from->staged[--from->staged_bytes];
    }
    return true;
}

/* The file was measured when it was opened: what is appended later is not sent, and what is missing now was promised to
 * the peer. */
static bool fill_from_file(source *from, uint32_t capacity, bool *last)
{
    uint64_t left = from->size - from->supplied;
    *last = left <= capacity;
    if (!fill_up(from, *last ? (uint32_t)left : capacity))
        return false;
    if (from->at_end)
        netblt_fail(&from->failure, NETBLT_FAILURE_LOCAL, "%s became shorter while it was being sent", from->name);
    return !from->at_end;
}

/* Everything up to the end of the file. */
static bool fill_content(source *from, uint32_t capacity, bool *last)
{
    if (!(from->is_stream ? fill_from_stream(from, capacity, last) : fill_from_file(from, capacity, last)))
        return false;
    digest_add(from->sum, from->staged, from->staged_bytes);
    from->supplied += from->staged_bytes;
    from->content_ended = *last;
    return true;
}

/* What still fits of the digest, behind the content. */
static void append_digest(source *from, uint32_t capacity, bool *last)
{
    uint32_t left = DIGEST_BYTES - from->tail_supplied;
    uint32_t room = capacity - from->staged_bytes;
    uint32_t bytes = left < room ? left : room;
    uint8_t value[DIGEST_BYTES];
    digest_finish(from->sum, value);
    memcpy(from->staged + from->staged_bytes, value + from->tail_supplied, bytes);
    from->staged_bytes += bytes;
    from->tail_supplied += bytes;
    *last = from->tail_supplied == DIGEST_BYTES;
}

enum netblt_send_buffer source_supply(source *from, uint32_t capacity, const uint8_t **data, uint32_t *length,
                                      bool *last)
{
    if (from->failure.kind != NETBLT_FAILURE_NONE || !take_staged(from, capacity) ||
        (!from->content_ended && !fill_content(from, capacity, last)))
        return NETBLT_SEND_BUFFER_WAIT;
    if (from->content_ended && from->ends_in_digest)
        append_digest(from, capacity, last);
    *data = from->staged;
    *length = from->staged_bytes;
    from->staged = NULL;
    return NETBLT_SEND_BUFFER_READY;
}

void source_end_in_digest(source *from, bool ends)
{
    from->ends_in_digest = ends;
}

void source_release(source *from, const uint8_t *data)
{
    buffer_pool_give_back(&from->pool, data);
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
