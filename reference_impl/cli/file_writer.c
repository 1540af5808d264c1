/* SPDX-License-Identifier: BSD-2-Clause */
/* A thread that writes one received file: see file_writer.h. */
#include "cli/file_writer.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What is read back at once to hash a buffer that came early. */
#define READ_BACK_BYTES 65536

struct piece {
    struct piece *next;
    uint64_t index;
    uint8_t *data;
    uint32_t length;
};

struct pieces {
    struct piece *first;
    struct piece **end;
};

struct file_writer {
    /* The thread's own. SHA-256 takes bytes in order, buffers do not come so: those before `hashed` are in, of the
     * others `written` remembers which have come (bit index % 8 of byte index / 8). */
    file_place *at;
    digest *sum;
    uint32_t buffer_bytes;
    uint64_t size;
    uint64_t hashed;
    uint8_t *written;
    size_t written_bytes;

    int wake_fd;
    pthread_t thread;
    pthread_mutex_t mutex; /* of all below */
    pthread_cond_t changed;
    struct pieces queue; /* to write */
    struct pieces back;  /* to take back */
    bool busy;           /* the thread holds a piece of neither */
    bool finishing;
    bool abandoned;
    bool ended;
    int error; /* the first that happened; 0 = none */
    enum file_writer_state state;
};

/* ---- pieces ---------------------------------------------------------------------------------------------------- */

static void append(struct pieces *list, struct piece *piece)
{
    piece->next = NULL;
    *list->end = piece;
    list->end = &piece->next;
}

static struct piece *take_first(struct pieces *list)
{
    struct piece *piece = list->first;

    if (piece == NULL)
        return NULL;
    list->first = piece->next;
    if (list->first == NULL)
        list->end = &list->first;
    return piece;
}

static void free_all(struct pieces *list)
{
    struct piece *piece;

    while ((piece = take_first(list)) != NULL)
        free(piece);
}

/* ---- which buffers have come ----------------------------------------------------------------------------------- */

static bool has_come(const file_writer *writer, uint64_t index)
{
    return index / 8 < writer->written_bytes && (writer->written[index / 8] >> (index % 8) & 1) != 0;
}

static bool mark_come(file_writer *writer, uint64_t index)
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
static int hash_back(file_writer *writer, uint64_t offset, uint64_t end)
{
    uint8_t bytes[READ_BACK_BYTES];

    while (offset < end) {
        size_t wanted = end - offset < sizeof bytes ? (size_t)(end - offset) : sizeof bytes;
        ssize_t got = pread(place_fd(writer->at), bytes, wanted, (off_t)offset);

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
static int hash_from(file_writer *writer, const struct piece *piece)
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

static int store(file_writer *writer, const struct piece *piece)
{
    uint64_t offset = piece->index * writer->buffer_bytes;
    int error = place_find_lost(writer->at); /* it could only fail at the end: better now */

    if (error == 0)
        error = write_at(place_fd(writer->at), piece->data, piece->length, offset);
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
static void wake(const file_writer *writer)
{
    const uint64_t one = 1;

    if (write(writer->wake_fd, &one, sizeof one) < 0)
        return;
}

/* Called and returns with the mutex held. */
static void write_first(file_writer *writer)
{
    struct piece *piece = take_first(&writer->queue);
    int error = writer->error;

    writer->busy = true;
    pthread_mutex_unlock(&writer->mutex);
    if (error == 0)
        error = store(writer, piece);
    pthread_mutex_lock(&writer->mutex);
    writer->busy = false;
    append(&writer->back, piece);
    writer->error = error;
    if (error != 0)
        writer->state = FILE_WRITER_FAILED;
    wake(writer);
}

static bool is_abandoned(file_writer *writer)
{
    bool abandoned;

    pthread_mutex_lock(&writer->mutex);
    abandoned = writer->abandoned;
    pthread_mutex_unlock(&writer->mutex);
    return abandoned;
}

/* Data that end in their digest are stored without it, and only if it is right. */
static int cut_digest(const file_writer *writer)
{
    if (!digest_is_expected(writer->sum))
        return 0;
    if (!digest_agrees(writer->sum))
        return EBADMSG;
    return ftruncate(place_fd(writer->at), (off_t)(writer->size - DIGEST_BYTES)) == 0 ? 0 : errno;
}

/* Called and returns with the mutex held. The sync may take long, so it is asked again before the name is given. */
static void store_for_good(file_writer *writer)
{
    int error;

    pthread_mutex_unlock(&writer->mutex);
    error = cut_digest(writer);
    if (error == 0)
        error = place_sync(writer->at);
    if (error == 0 && !is_abandoned(writer))
        error = place_settle(writer->at);
    pthread_mutex_lock(&writer->mutex);
    writer->error = error;
    if (error != 0)
        writer->state = FILE_WRITER_FAILED;
    else if (place_is_named(writer->at))
        writer->state = FILE_WRITER_STORED;
}

static void *run(void *context)
{
    file_writer *writer = context;

    place_remove_stale(place_directory(writer->at));
    pthread_mutex_lock(&writer->mutex);
    while (!writer->abandoned) {
        if (writer->queue.first != NULL)
            write_first(writer);
        else if (!writer->finishing)
            pthread_cond_wait(&writer->changed, &writer->mutex);
        else
            break;
    }
    if (!writer->abandoned && writer->error == 0)
        store_for_good(writer);
    writer->ended = true;
    pthread_mutex_unlock(&writer->mutex);
    wake(writer);
    return NULL;
}

file_writer *file_writer_start(file_place *at, digest *sum, uint32_t buffer_bytes, int wake_fd)
{
    file_writer *writer = calloc(1, sizeof *writer);
    int error;

    if (writer == NULL) {
        errno = ENOMEM;
        return NULL;
    }
    *writer = (file_writer){.at = at, .sum = sum, .buffer_bytes = buffer_bytes, .wake_fd = wake_fd};
    writer->queue.end = &writer->queue.first;
    writer->back.end = &writer->back.first;
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

void file_writer_free(file_writer *writer)
{
    if (writer == NULL)
        return;
    file_writer_abandon(writer);
    pthread_join(writer->thread, NULL);
    free_all(&writer->queue);
    free_all(&writer->back);
    pthread_cond_destroy(&writer->changed);
    pthread_mutex_destroy(&writer->mutex);
    free(writer->written);
    free(writer);
}

/* ---- for the event loop ----------------------------------------------------------------------------------------- */

bool file_writer_write(file_writer *writer, uint64_t index, uint8_t *data, uint32_t length)
{
    struct piece *piece = malloc(sizeof *piece);

    if (piece == NULL)
        return false;
    *piece = (struct piece){.index = index, .data = data, .length = length};
    pthread_mutex_lock(&writer->mutex);
    append(&writer->queue, piece);
    pthread_cond_signal(&writer->changed);
    pthread_mutex_unlock(&writer->mutex);
    return true;
}

static void set(file_writer *writer, bool *flag)
{
    pthread_mutex_lock(&writer->mutex);
    *flag = true;
    pthread_cond_signal(&writer->changed);
    pthread_mutex_unlock(&writer->mutex);
}

void file_writer_finish(file_writer *writer)
{
    set(writer, &writer->finishing);
}

void file_writer_abandon(file_writer *writer)
{
    set(writer, &writer->abandoned);
}

uint8_t *file_writer_take_back(file_writer *writer)
{
    struct piece *piece;
    uint8_t *data = NULL;

    pthread_mutex_lock(&writer->mutex);
    piece = take_first(&writer->back);
    if (piece == NULL && writer->ended) /* what was never written */
        piece = take_first(&writer->queue);
    pthread_mutex_unlock(&writer->mutex);
    if (piece != NULL)
        data = piece->data;
    free(piece);
    return data;
}

bool file_writer_is_idle(file_writer *writer)
{
    bool idle;

    pthread_mutex_lock(&writer->mutex);
    idle = writer->queue.first == NULL && writer->back.first == NULL && !writer->busy;
    pthread_mutex_unlock(&writer->mutex);
    return idle;
}

enum file_writer_state file_writer_look(file_writer *writer)
{
    enum file_writer_state state;

    pthread_mutex_lock(&writer->mutex);
    state = writer->state;
    pthread_mutex_unlock(&writer->mutex);
    return state;
}

int file_writer_error(file_writer *writer)
{
    int error;

    pthread_mutex_lock(&writer->mutex);
    error = writer->error;
    pthread_mutex_unlock(&writer->mutex);
    return error;
}

bool file_writer_has_ended(file_writer *writer)
{
    bool ended;

    pthread_mutex_lock(&writer->mutex);
    ended = writer->ended;
    pthread_mutex_unlock(&writer->mutex);
    return ended;
}
