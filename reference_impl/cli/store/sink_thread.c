/* SPDX-License-Identifier: BSD-2-Clause */
/* The thread that writes what one transfer receives: see sink_thread.h. */
#include "cli/store/sink_thread.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What is read back at once to hash a buffer that came early. */
#define READ_BACK_BYTES 65536
/* stdout may be shared, so it is not made non-blocking. A pipe that polls writable takes so much without blocking
 * (PIPE_BUF on Linux). */
#define STREAM_PIECE_BYTES 4096

/* ---- which buffers have come ----------------------------------------------------------------------------------- */

static bool has_come(const sink *to, uint64_t index)
{
    return index / 8 < to->written_bytes && (to->written[index / 8] >> (index % 8) & 1) != 0;
}

static bool mark_come(sink *to, uint64_t index)
{
    size_t needed = (size_t)(index / 8) + 1;
    if (needed > to->written_bytes) {
        size_t bytes = needed * 2;
        uint8_t *written = realloc(to->written, bytes);
        if (written == NULL)
            return false;
        memset(written + to->written_bytes, 0, bytes - to->written_bytes);
        to->written = written;
        to->written_bytes = bytes;
    }
    to->written[index / 8] |= (uint8_t)(1u << (index % 8));
    return true;
}

/* ---- writing: each returns 0 or an errno value ------------------------------------------------------------------ */

static int write_at(int fd, const uint8_t *data, uint32_t length, uint64_t offset)
{
    uint32_t done = 0;
    while (done < length) {
        ssize_t written = pwrite(fd, data + done, length - done, (off_t)(offset + done));
        if (written > 0)
            done += (uint32_t)written;
        else if (written == 0 || errno != EINTR)
            return written == 0 ? EIO : errno;
    }
    return 0;
}

/* Hashes the bytes from `offset` to `end` as they are in the file. */
static int hash_back(sink *to, uint64_t offset, uint64_t end)
{
    uint8_t bytes[READ_BACK_BYTES];
    while (offset < end) {
        size_t wanted = end - offset < sizeof bytes ? (size_t)(end - offset) : sizeof bytes;
        ssize_t got = pread(to->at->fd, bytes, wanted, (off_t)offset);
        if (got > 0) {
            digest_add(to->sum, bytes, (size_t)got);
            offset += (uint64_t)got;
        } else if (got == 0 || errno != EINTR) {
            return got == 0 ? EIO : errno;
        }
    }
    return 0;
}

/* `buffer` is buffer `hashed` and still in memory; buffers that came before it and follow it are read back. */
static int hash_from(sink *to, const pool_buffer *buffer)
{
    uint64_t from;
    uint64_t end;
    digest_add(to->sum, buffer->bytes, buffer->length);
    from = ++to->hashed;
    while (has_come(to, to->hashed))
        to->hashed++;
    end = to->hashed * to->buffer_bytes;
    return hash_back(to, from * to->buffer_bytes, end < to->size ? end : to->size);
}

/* Bytes of a stream, as fast as its reader takes them. */
static void write_stream(void *context, const uint8_t *bytes, size_t length)
{
    sink *to = context;
    while (length > 0 && to->stream_error == 0) {
        struct pollfd ready[] = {{.fd = to->stream_fd, .events = POLLOUT}, {.fd = to->stop_fd, .events = POLLIN}};
        ssize_t written = -1;
        errno = EINTR;
        if (poll(ready, 2, -1) > 0 && ready[1].revents != 0)
            errno = ECANCELED;
        else if (ready[0].revents != 0)
            written = write(to->stream_fd, bytes, length < STREAM_PIECE_BYTES ? length : STREAM_PIECE_BYTES);
        if (written >= 0) {
            bytes += written;
            length -= (size_t)written;
        } else if (errno != EINTR && errno != EAGAIN) {
            to->stream_error = errno;
        }
    }
}

static int store_in_stream(sink *to, const pool_buffer *buffer)
{
    digest_add(to->sum, buffer->bytes, buffer->length); /* which passes it on to write_stream() */
    return to->stream_error;
}

static int store_in_file(sink *to, const pool_buffer *buffer)
{
    uint64_t offset = buffer->index * to->buffer_bytes;
    int error = place_find_lost(to->at); /* it could only fail at the end: better now */
    if (error == 0)
        error = write_at(to->at->fd, buffer->bytes, buffer->length, offset);
    if (error != 0)
        return error;
    if (offset + buffer->length > to->size)
        to->size = offset + buffer->length;
    if (!mark_come(to, buffer->index))
        return ENOMEM;
    return buffer->index == to->hashed ? hash_from(to, buffer) : 0;
}

/* ---- the thread ------------------------------------------------------------------------------------------------ */

/* An eventfd takes less than 8 bytes only when its count is at its end: then the loop is awake anyway. */
static void wake(const sink *to)
{
    const uint64_t one = 1;
    if (write(to->wake_fd, &one, sizeof one) < 0)
        return;
}

/* Data that end in their digest are stored without it, and only if it is right. The sync may take long, so it is asked
 * again before the name is given. */
static int store_file_for_good(sink *to)
{
    off_t size = (off_t)(to->size - DIGEST_BYTES);
    int error;
    if (digest_is_expected(to->sum) && ftruncate(to->at->fd, size) != 0)
        return errno;
    error = place_sync(to->at);
    return error != 0 || to->abandoned ? error : place_settle(to->at);
}

static int close_stream(sink *to)
{
    int fd = to->stream_fd;
    to->stream_fd = -1;
    return close(fd) == 0 ? 0 : errno;
}

static void store_for_good(sink *to)
{
    int error = EBADMSG;
    if (digest_agrees(to->sum))
        error = to->at == NULL ? close_stream(to) : store_file_for_good(to);
    to->stored = error == 0 && (to->at == NULL || to->at->named);
    to->write_error = error;
}

/* Waits for a buffer. NULL: there is nothing more to write. */
static pool_buffer *take_next(sink *to)
{
    pool_buffer *buffer;
    pthread_mutex_lock(&to->mutex);
    while (STAILQ_EMPTY(&to->queue) && !to->finishing && !to->abandoned)
        pthread_cond_wait(&to->changed, &to->mutex);
    buffer = to->abandoned ? NULL : STAILQ_FIRST(&to->queue);
    if (buffer != NULL)
        STAILQ_REMOVE_HEAD(&to->queue, next);
    pthread_mutex_unlock(&to->mutex);
    return buffer;
}

static void *run(void *context)
{
    sink *to = context;
    pool_buffer *buffer;
    if (to->at != NULL)
        place_remove_stale(to->at->dir_fd);
    while ((buffer = take_next(to)) != NULL) {
        if (to->write_error == 0)
            to->write_error = to->at == NULL ? store_in_stream(to, buffer) : store_in_file(to, buffer);
        pthread_mutex_lock(&to->mutex);
        STAILQ_INSERT_TAIL(&to->back, buffer, next);
        pthread_mutex_unlock(&to->mutex);
        wake(to);
    }
    if (!to->abandoned && to->write_error == 0)
        store_for_good(to);
    to->ended = true;
    wake(to);
    return NULL;
}

int sink_start_thread(sink *to)
{
    int error;
    if (to->started)
        return 0;
    if (to->at == NULL)
        digest_pass_on(to->sum, write_stream, to);
    error = pthread_create(&to->thread, NULL, run, to);
    to->started = error == 0;
    return error;
}
