/* SPDX-License-Identifier: BSD-2-Clause */
/* A thread that writes what one transfer receives: see writer.h. */
#include "cli/store/writer.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <unistd.h>

/* What is read back at once to hash a buffer that came early. */
#define READ_BACK_BYTES 65536
/* stdout may be shared, so it is not made non-blocking. A pipe that polls writable takes so much without blocking
 * (PIPE_BUF on Linux). */
#define STREAM_PIECE_BYTES 4096

struct piece {
    STAILQ_ENTRY(piece) next;
    uint64_t index;
    uint8_t *data;
    uint32_t length;
};

STAILQ_HEAD(pieces, piece);

struct sink_writer {
    /* The thread's own. SHA-256 takes bytes in order, buffers do not come so: those before `hashed` are in, of the
     * others `written` remembers which have come (bit index % 8 of byte index / 8). */
    writer_target to;
    digest *sum;
    int stream_error;
    uint32_t buffer_bytes;
    uint64_t size;
    uint64_t hashed;
    uint8_t *written;
    size_t written_bytes;

    pthread_t thread;
    pthread_mutex_t mutex; /* of all below */
    pthread_cond_t changed;
    struct pieces queue; /* to write */
    struct pieces back;  /* to take back */
    bool finishing;
    bool abandoned;
    writer_news news;
};

/* NULL when there is none. */
static struct piece *take_first(struct pieces *list)
{
    struct piece *piece = STAILQ_FIRST(list);
    if (piece != NULL)
        STAILQ_REMOVE_HEAD(list, next);
    return piece;
}

/* ---- which buffers have come ----------------------------------------------------------------------------------- */

static bool has_come(const sink_writer *writer, uint64_t index)
{
    return index / 8 < writer->written_bytes && (writer->written[index / 8] >> (index % 8) & 1) != 0;
}

static bool mark_come(sink_writer *writer, uint64_t index)
{
    size_t needed = (size_t)(index / 8) + 1;
    if (needed > writer->written_bytes) {
        size_t bytes = needed * 2;
        uint8_t *written = realloc(writer->written, bytes);
        if (written == NULL)
            return false;
        memset(written + writer->written_bytes, 0, bytes - writer->written_bytes);
        writer->written = written;
        writer->written_bytes = bytes;
    }
    writer->written[index / 8] |= (uint8_t)(1u << (index % 8));
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
static int hash_back(sink_writer *writer, uint64_t offset, uint64_t end)
{
    uint8_t bytes[READ_BACK_BYTES];
    while (offset < end) {
        size_t wanted = end - offset < sizeof bytes ? (size_t)(end - offset) : sizeof bytes;
        ssize_t got = pread(place_fd(writer->to.at), bytes, wanted, (off_t)offset);
        if (got > 0) {
            digest_add(writer->sum, bytes, (size_t)got);
            offset += (uint64_t)got;
        } else if (got == 0 || errno != EINTR) {
            return got == 0 ? EIO : errno;
        }
    }
    return 0;
}

/* `piece` is buffer `hashed` and still in memory; buffers that came before it and follow it are read back. */
static int hash_from(sink_writer *writer, const struct piece *piece)
{
    uint64_t from;
    uint64_t end;
    digest_add(writer->sum, piece->data, piece->length);
    from = ++writer->hashed;
    while (has_come(writer, writer->hashed))
        writer->hashed++;
    end = writer->hashed * writer->buffer_bytes;
    return hash_back(writer, from * writer->buffer_bytes, end < writer->size ? end : writer->size);
}

/* Bytes of a stream, as fast as its reader takes them. */
static void write_stream(void *context, const uint8_t *bytes, size_t length)
{
    sink_writer *writer = context;
    while (length > 0 && writer->stream_error == 0) {
        struct pollfd ready[] = {{.fd = writer->to.stream_fd, .events = POLLOUT},
                                 {.fd = writer->to.stop_fd, .events = POLLIN}};
        ssize_t written = -1;
        errno = EINTR;
        if (poll(ready, 2, -1) > 0 && ready[1].revents != 0)
            errno = ECANCELED;
        else if (ready[0].revents != 0)
            written = write(writer->to.stream_fd, bytes, length < STREAM_PIECE_BYTES ? length : STREAM_PIECE_BYTES);
        if (written >= 0) {
            bytes += written;
            length -= (size_t)written;
        } else if (errno != EINTR && errno != EAGAIN) {
            writer->stream_error = errno;
        }
    }
}

static int store_in_stream(sink_writer *writer, const struct piece *piece)
{
    digest_add(writer->sum, piece->data, piece->length); /* which passes it on to write_stream() */
    return writer->stream_error;
}

static int store_in_file(sink_writer *writer, const struct piece *piece)
{
    uint64_t offset = piece->index * writer->buffer_bytes;
    int error = place_find_lost(writer->to.at); /* it could only fail at the end: better now */
    if (error == 0)
        error = write_at(place_fd(writer->to.at), piece->data, piece->length, offset);
    if (error != 0)
        return error;
    if (offset + piece->length > writer->size)
        writer->size = offset + piece->length;
    if (!mark_come(writer, piece->index))
        return ENOMEM;
    return piece->index == writer->hashed ? hash_from(writer, piece) : 0;
}

/* ---- the thread ------------------------------------------------------------------------------------------------ */

/* An eventfd takes less than 8 bytes only when its count is at its end: then the loop is awake anyway. */
static void wake(const sink_writer *writer)
{
    const uint64_t one = 1;
    if (write(writer->to.wake_fd, &one, sizeof one) < 0)
        return;
}

/* Called and returns with the mutex held. */
static void write_first(sink_writer *writer)
{
    struct piece *piece = take_first(&writer->queue);
    int error = writer->news.error;
    pthread_mutex_unlock(&writer->mutex);
    if (error == 0)
        error = writer->to.at == NULL ? store_in_stream(writer, piece) : store_in_file(writer, piece);
    pthread_mutex_lock(&writer->mutex);
    STAILQ_INSERT_TAIL(&writer->back, piece, next);
    writer->news.error = error;
    if (error != 0 && error != ECANCELED) /* by writer_abandon(), after the transfer itself has failed */
        writer->news.state = WRITER_FAILED;
    wake(writer);
}

static bool is_abandoned(sink_writer *writer)
{
    bool abandoned;
    pthread_mutex_lock(&writer->mutex);
    abandoned = writer->abandoned;
    pthread_mutex_unlock(&writer->mutex);
    return abandoned;
}

/* Data that end in their digest are stored without it, and only if it is right. The sync may take long, so it is asked
 * again before the name is given. */
static int store_file_for_good(sink_writer *writer)
{
    off_t size = (off_t)(writer->size - DIGEST_BYTES);
    int error;
    if (digest_is_expected(writer->sum) && ftruncate(place_fd(writer->to.at), size) != 0)
        return errno;
    error = place_sync(writer->to.at);
    return error != 0 || is_abandoned(writer) ? error : place_settle(writer->to.at);
}

static int close_stream(sink_writer *writer)
{
    int fd = writer->to.stream_fd;
    writer->to.stream_fd = -1;
    return close(fd) == 0 ? 0 : errno;
}

/* Called and returns with the mutex held. */
static void store_for_good(sink_writer *writer)
{
    int error = EBADMSG;
    pthread_mutex_unlock(&writer->mutex);
    if (digest_agrees(writer->sum))
        error = writer->to.at == NULL ? close_stream(writer) : store_file_for_good(writer);
    pthread_mutex_lock(&writer->mutex);
    writer->news.error = error;
    if (error != 0)
        writer->news.state = WRITER_FAILED;
    else if (writer->to.at == NULL || place_is_named(writer->to.at))
        writer->news.state = WRITER_STORED;
}

static void *run(void *context)
{
    sink_writer *writer = context;
    if (writer->to.at != NULL)
        place_remove_stale(place_directory(writer->to.at));
    pthread_mutex_lock(&writer->mutex);
    while (!writer->abandoned)
        if (!STAILQ_EMPTY(&writer->queue))
            write_first(writer);
        else if (!writer->finishing)
            pthread_cond_wait(&writer->changed, &writer->mutex);
        else
            break;
    if (!writer->abandoned && writer->news.error == 0)
        store_for_good(writer);
    writer->news.ended = true;
    pthread_mutex_unlock(&writer->mutex);
    wake(writer);
    return NULL;
}

sink_writer *writer_start(const writer_target *to, digest *sum, uint32_t buffer_bytes)
{
    sink_writer *writer = calloc(1, sizeof *writer);
    int error;
    if (writer == NULL) {
        errno = ENOMEM;
        return NULL;
    }
    *writer = (struct sink_writer){.to = *to, .sum = sum, .buffer_bytes = buffer_bytes};
    if (to->at == NULL)
        digest_pass_on(sum, write_stream, writer);
    STAILQ_INIT(&writer->queue);
    STAILQ_INIT(&writer->back);
    pthread_mutex_init(&writer->mutex, NULL);
    pthread_cond_init(&writer->changed, NULL);
    error = pthread_create(&writer->thread, NULL, run, writer);
    if (error == 0)
        return writer;
    pthread_cond_destroy(&writer->changed);
    pthread_mutex_destroy(&writer->mutex);
    free(writer);
    errno = error;
    return NULL;
}

void writer_free(sink_writer *writer)
{
    struct piece *piece;
    if (writer == NULL)
        return;
    writer_abandon(writer);
    pthread_join(writer->thread, NULL);
    STAILQ_CONCAT(&writer->back, &writer->queue);
    while ((piece = take_first(&writer->back)) != NULL)
        free(piece);
    pthread_cond_destroy(&writer->changed);
    pthread_mutex_destroy(&writer->mutex);
    if (writer->to.at == NULL && writer->to.stream_fd >= 0)
        close(writer->to.stream_fd);
    free(writer->written);
    free(writer);
}

/* ---- for the event loop ----------------------------------------------------------------------------------------- */

bool writer_write(sink_writer *writer, uint64_t index, uint8_t *data, uint32_t length)
{
    struct piece *piece = malloc(sizeof *piece);
    if (piece == NULL)
        return false;
    *piece = (struct piece){.index = index, .data = data, .length = length};
    pthread_mutex_lock(&writer->mutex);
    STAILQ_INSERT_TAIL(&writer->queue, piece, next);
    pthread_cond_signal(&writer->changed);
    pthread_mutex_unlock(&writer->mutex);
    return true;
}

static void set(sink_writer *writer, bool *flag)
{
    pthread_mutex_lock(&writer->mutex);
    *flag = true;
    pthread_cond_signal(&writer->changed);
    pthread_mutex_unlock(&writer->mutex);
}

void writer_finish(sink_writer *writer)
{
    set(writer, &writer->finishing);
}

void writer_abandon(sink_writer *writer)
{
    const uint64_t one = 1;
    set(writer, &writer->abandoned);
    if (writer->to.stop_fd >= 0 && write(writer->to.stop_fd, &one, sizeof one) < 0)
        return; /* it is set already */
}

uint8_t *writer_take_back(sink_writer *writer)
{
    struct piece *piece;
    uint8_t *data = NULL;
    pthread_mutex_lock(&writer->mutex);
    piece = take_first(&writer->back);
    if (piece == NULL && writer->news.ended) /* what was never written */
        piece = take_first(&writer->queue);
    pthread_mutex_unlock(&writer->mutex);
    if (piece != NULL)
        data = piece->data;
    free(piece);
    return data;
}

writer_news writer_look(sink_writer *writer)
{
    writer_news news;
    pthread_mutex_lock(&writer->mutex);
    news = writer->news;
    pthread_mutex_unlock(&writer->mutex);
    return news;
}
