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

#include "cli/store/source_thread.h"

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

/* ---- a file, a stream, a tree: what the thread reads ----------------------------------------------------------------
 */

static int64_t fail_to_read(source *from)
{
    return netblt_fail(&from->read_failure, NETBLT_FAILURE_LOCAL, "cannot read %s: %s", from->name, strerror(errno));
}

static void close_fd(source *from)
{
    close(from->fd);
}

/* The file was measured when it was opened: what is appended later is not sent, and what is missing now was promised to
 * the peer. */
static int64_t read_file(source *from, uint8_t *to, size_t wanted)
{
    uint64_t left = from->size - from->content_bytes;
    ssize_t got;
    if (left == 0)
        return 0;
    do
        got = pread(from->fd, to, left < wanted ? (size_t)left : wanted, (off_t)(from->start + from->content_bytes));
    while (got < 0 && errno == EINTR);
    if (got == 0)
        return netblt_fail(&from->read_failure, NETBLT_FAILURE_LOCAL, "%s became shorter while it was being sent",
                           from->name);
    return got < 0 ? fail_to_read(from) : got;
}

/* stdin may be shared with other processes, so it is not made non-blocking: asking first does as well, since a read
 * returns what is there. */
static int64_t read_stream(source *from, uint8_t *to, size_t wanted)
{
    struct pollfd ready[] = {{.fd = from->fd, .events = POLLIN}, {.fd = from->stop_fd, .events = POLLIN}};
    ssize_t got = -1;
    do {
        errno = EINTR;
        if (poll(ready, 2, -1) > 0)
            got = ready[1].revents != 0 ? 0 : read(from->fd, to, wanted);
    } while (got < 0 && (errno == EINTR || errno == EAGAIN));
    if (got < 0)
        return fail_to_read(from);
    return check_size(from, from->content_bytes + (uint64_t)got, &from->read_failure) == 0 ? got : -1;
}

static int64_t read_tree(source *from, uint8_t *to, size_t wanted)
{
    return tree_reader_read(from->tree, to, wanted, &from->read_failure);
}

static void close_tree(source *from)
{
    tree_reader_free(from->tree);
}

static const source_kind file_kind = {.read = read_file, .close = close_fd};
static const source_kind stream_kind = {.read = read_stream, .close = close_fd};
static const source_kind tree_kind = {.read = read_tree, .close = close_tree};

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

static bool is_readable(int fd)
{
    int flags = fcntl(fd, F_GETFL);
    if (flags >= 0 && (flags & O_ACCMODE) == O_WRONLY)
        errno = EBADF;
    return flags >= 0 && (flags & O_ACCMODE) != O_WRONLY;
}

/* Only what can be read at any place and has a size is a file here: a terminal, a pipe, a device is a stream, and
 * so is a file without a size, as those in /proc. stdin may be a file that someone has read a part of: the rest is
 * ours. */
static int find_kind(source *from, netblt_failure *failure)
{
    struct stat status;
    if (!is_readable(from->fd) || fstat(from->fd, &status) != 0)
        return netblt_fail(failure, NETBLT_FAILURE_LOCAL, "cannot read %s: %s", from->name, strerror(errno));
    if (S_ISDIR(status.st_mode))
        return netblt_fail(failure, NETBLT_FAILURE_LOCAL, "%s is a directory: send one file, for instance an archive",
                           from->name);
    from->has_size = S_ISREG(status.st_mode) && status.st_size != 0;
    if (from->has_size) {
        off_t start = lseek(from->fd, 0, SEEK_CUR);
        from->kind = &file_kind;
        from->start = start > 0 ? (uint64_t)start : 0;
        from->size = status.st_size > start ? (uint64_t)(status.st_size - start) : 0;
    }
    return check_size(from, from->size, failure);
}

static source *make(const char *name, netblt_failure *failure)
{
    source *from = calloc(1, sizeof *from);
    if (from == NULL) {
        netblt_fail(failure, NETBLT_FAILURE_LOCAL, "not enough memory");
        return NULL;
    }
    from->name = name;
    from->fd = from->stop_fd = from->wake_fd = -1;
    STAILQ_INIT(&from->ready);
    pthread_mutex_init(&from->mutex, NULL);
    pthread_cond_init(&from->room, NULL);
    return from;
}

source *source_adopt(int fd, const char *name, bool beyond_4g, netblt_failure *failure)
{
    source *from = make(name, failure);
    if (from == NULL) {
        close(fd);
        return NULL;
    }
    from->kind = &stream_kind;
    from->fd = fd;
    from->beyond_4g = beyond_4g;
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

source *source_open_tree(const tree_reader_args *args, const char *name, netblt_failure *failure)
{
    source *from = make(name, failure);
    if (from == NULL)
        return NULL;
    from->tree = tree_reader_new(args, failure);
    if (from->tree == NULL) {
        source_close(from);
        return NULL;
    }
    from->kind = &tree_kind;
    from->has_size = true;
    from->size = tree_reader_bytes(from->tree);
    from->entry = tree_reader_entry(from->tree);
    return from;
}

void source_close(source *from)
{
    if (from == NULL)
        return;
    source_stop_thread(from);
    if (from->kind != NULL)
        from->kind->close(from);
    if (from->stop_fd >= 0)
        close(from->stop_fd);
    if (from->wake_fd >= 0)
        close(from->wake_fd);
    buffer_pool_clear(&from->pool);
    digest_free(from->sum);
    pthread_cond_destroy(&from->room);
    pthread_mutex_destroy(&from->mutex);
    free(from);
}

uint64_t source_size(const source *from)
{
    return from->size;
}

uint64_t source_ahead_bytes(uint32_t capacity)
{
    return (uint64_t)source_buffers_ahead(capacity) * capacity;
}

bool source_cut(source *from, uint64_t bytes)
{
    if (from->size < bytes)
        return false;
    from->size = bytes;
    return true;
}

void source_end_in_digest(source *from, bool ends)
{
    from->ends_in_digest = ends && from->sum != NULL;
}

/* ---- buffers ------------------------------------------------------------------------------------------------------
 */

/* The thread may have made wake_fd readable for the event loop, which is here now. */
static void clear_wake(source *from)
{
    uint64_t count;
    if (from->signalled && read(from->wake_fd, &count, sizeof count) < 0)
        return; /* cannot be: it is readable */
    from->signalled = false;
}

/* NULL: none is ready, or source.failure. */
static pool_buffer *take_ready(source *from, bool *last)
{
    pool_buffer *buffer;
    pthread_mutex_lock(&from->mutex);
    clear_wake(from);
    buffer = STAILQ_FIRST(&from->ready);
    from->waits = buffer == NULL && !from->failed;
    if (buffer != NULL) {
        STAILQ_REMOVE_HEAD(&from->ready, next);
        /* It sleeps while all are ready; one call to wake it is enough for half of them. */
        if (--from->ready_count == from->ahead / 2)
            pthread_cond_signal(&from->room);
        *last = from->has_last && from->ready_count == 0;
    } else if (from->failed) {
        from->failure = from->read_failure;
    }
    pthread_mutex_unlock(&from->mutex);
    return buffer;
}

static bool start(source *from, uint32_t capacity)
{
    int error = 0;
    if (from->started || from->has_last)
        return true;
    if (from->kind == &file_kind && from->content_bytes == 0)
        source_read_first(from, capacity);
    else
        error = source_start_thread(from, capacity);
    if (error != 0)
        netblt_fail(&from->failure, NETBLT_FAILURE_LOCAL, "cannot start a thread: %s", strerror(error));
    return error == 0;
}

enum netblt_send_buffer source_supply(source *from, uint32_t capacity, const uint8_t **data, uint32_t *length,
                                      bool *last)
{
    pool_buffer *buffer = NULL;
    if (from->failure.kind == NETBLT_FAILURE_NONE && start(from, capacity))
        buffer = take_ready(from, last);
    if (buffer == NULL)
        return NETBLT_SEND_BUFFER_WAIT;
    *data = buffer->bytes;
    *length = buffer->length;
    from->entry = (uint32_t)buffer->index;
    return NETBLT_SEND_BUFFER_READY;
}

void source_release(source *from, const uint8_t *data)
{
    pthread_mutex_lock(&from->mutex);
    buffer_pool_give_back(&from->pool, data);
    pthread_mutex_unlock(&from->mutex);
}

const netblt_failure *source_failure(const source *from)
{
    return from->failure.kind == NETBLT_FAILURE_NONE ? NULL : &from->failure;
}

int source_fd(const source *from)
{
    return from->wake_fd;
}

void source_digest(source *from, char text[DIGEST_TEXT_BYTES])
{
    digest_finish_text(from->sum, text);
}

uint64_t source_tree_end_offset(const source *from)
{
    return tree_reader_end_offset(from->tree);
}

uint32_t source_tree_entry(const source *from)
{
    return from->entry;
}

bool source_tree_sum(const source *from, uint32_t entry, uint8_t sum[PIECE_HASH_BYTES])
{
    return tree_reader_sum(from->tree, entry, sum);
}
