/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/sink.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/sink_internal.h"

/* A device, a FIFO, a terminal under the target's name is written to, as any program would; only a plain file is
 * replaced. */
static bool is_special(const char *path)
{
    struct stat status;

    return stat(path, &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode);
}

/* stdout as a file of its own. -1 with errno when it is closed or was opened for reading only. */
static int copy_stdout(void)
{
    int flags = fcntl(STDOUT_FILENO, F_GETFL);

    if (flags >= 0 && (flags & O_ACCMODE) == O_RDONLY) {
        errno = EBADF;
        return -1;
    }
    return fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
}

static sink *open_stream(const char *name, int fd, netblt_failure *failure)
{
    if (fd < 0) {
        netblt_fail(failure, NETBLT_FAILURE_LOCAL, "cannot write %s: %s", name, strerror(errno));
        return NULL;
    }
    return stream_sink_open(name, fd, failure);
}

sink *sink_open(const char *path, const sink_how *how, netblt_failure *failure)
{
    if (strcmp(path, "-") == 0)
        return open_stream("stdout", copy_stdout(), failure);
    if (is_special(path))
        return open_stream(path, open(path, O_WRONLY | O_CLOEXEC), failure);
    return file_sink_open(path, how, failure);
}

sink *sink_open_at(int dir_fd, const char *target, const sink_how *how, const char *name, netblt_failure *failure)
{
    return file_sink_open_at(dir_fd, target, how, name, failure);
}

sink *sink_new(size_t bytes, const sink_ops *ops, const char *name, netblt_failure *failure)
{
    sink *to = calloc(1, bytes);
    digest *sum = digest_new();

    if (to == NULL || sum == NULL) {
        free(to);
        digest_free(sum);
        netblt_fail(failure, NETBLT_FAILURE_LOCAL, "cannot compute SHA-256: not enough memory, or OpenSSL forbids it");
        return NULL;
    }
    to->ops = ops;
    to->name = name;
    to->fd = -1;
    to->directory = -1;
    to->sum = sum;
    return to;
}

void sink_close(sink *to)
{
    if (to == NULL)
        return;
    to->ops->close(to);
    if (to->fd >= 0)
        close(to->fd);
    buffer_pool_clear(&to->pool);
    digest_free(to->sum);
    free(to);
}

bool sink_takes_any_order(const sink *to)
{
    return to->any_order;
}

/* Buffers that a thread may be writing, beyond those that the transfer may have outstanding: while it writes one, the
 * next can be asked for. */
#define WRITING_BUFFERS 1

bool sink_has_room(const sink *to, size_t most)
{
    return to->failure.kind == NETBLT_FAILURE_NONE && to->pool.taken < most + (to->any_order ? WRITING_BUFFERS : 0);
}

uint8_t *sink_provide(sink *to, uint32_t capacity, size_t most)
{
    uint8_t *memory;

    if (!sink_has_room(to, most))
        return NULL;
    to->buffer_bytes = capacity;
    memory = buffer_pool_take(&to->pool, capacity);
    if (memory == NULL && to->pool.taken == 0)
        sink_write_failed(to, ENOMEM); /* with none out, none will ever come back */
    return memory;
}

void sink_deliver(sink *to, uint64_t index, uint8_t *data, uint32_t length)
{
    if (to->failure.kind == NETBLT_FAILURE_NONE)
        to->ops->deliver(to, index, data, length);
    else
        sink_discard(to, data);
}

void sink_adopt(sink *to, buffer_pool *early, uint32_t capacity)
{
    assert(to->pool.count == 0);
    to->pool = *early;
    to->buffer_bytes = capacity;
    *early = (buffer_pool){0};
}

void sink_discard(sink *to, uint8_t *data)
{
    buffer_pool_give_back(&to->pool, data);
}

bool sink_flush(sink *to)
{
    bool flushed = to->ops->flush(to);

    return flushed || to->failure.kind != NETBLT_FAILURE_NONE;
}

int sink_directory(const sink *to)
{
    return to->directory;
}

int sink_fd(const sink *to)
{
    return to->fd;
}

const netblt_failure *sink_failure(const sink *to)
{
    return to->failure.kind == NETBLT_FAILURE_NONE ? NULL : &to->failure;
}

void sink_write_failed(sink *to, int error)
{
    if (to->failure.kind == NETBLT_FAILURE_NONE) {
        to->error = error;
        if (error == EBADMSG)
            netblt_fail(&to->failure, NETBLT_FAILURE_LOCAL,
                        "the data for %s are damaged: their SHA-256 is not that of the sender", to->name);
        else
            netblt_fail(&to->failure, NETBLT_FAILURE_LOCAL, "cannot write %s: %s", to->name, strerror(error));
    }
}

const char *sink_error_text(const sink *to)
{
    return to->error == EBADMSG ? "they are damaged: their SHA-256 is not that of the sender" : strerror(to->error);
}

void sink_expect_digest(sink *to, bool expected)
{
    digest_expect(to->sum, expected);
}

bool sink_commit(sink *to)
{
    if (to->stored)
        return true;
    if (to->failure.kind != NETBLT_FAILURE_NONE || !to->ops->commit(to))
        return false;
    to->stored = true;
    digest_finish_text(to->sum, to->digest_text);
    return true;
}

void sink_abandon(sink *to)
{
    if (to->ops->abandon != NULL)
        to->ops->abandon(to);
}

bool sink_is_at_rest(const sink *to)
{
    return to->ops->is_at_rest == NULL || to->ops->is_at_rest(to);
}

bool sink_is_stored(const sink *to)
{
    return to->ops->is_stored != NULL && to->ops->is_stored(to);
}

void sink_digest(const sink *to, char text[DIGEST_TEXT_BYTES])
{
    memcpy(text, to->digest_text, DIGEST_TEXT_BYTES);
}
