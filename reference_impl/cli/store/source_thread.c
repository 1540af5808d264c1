/* SPDX-License-Identifier: BSD-2-Clause */
/* The thread that reads what one transfer sends: see source_thread.h. */
#include "cli/store/source_thread.h"

#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* What is read ahead: enough for a disk or a scheduler that is late by a millisecond at 8 Gb/s, and little enough
 * to stay in a processor's cache. */
#define AHEAD_BYTES (UINT32_C(1) << 20)
#define AHEAD_FEWEST 2
#define AHEAD_MOST 32

/* ---- bytes --------------------------------------------------------------------------------------------------------
 */

/* What still fits of the digest, after the content. How many bytes. */
static size_t read_digest(source *from, uint8_t *to, size_t room)
{
    size_t done = (size_t)(from->total_bytes - from->content_bytes);
    size_t bytes = DIGEST_BYTES - done < room ? DIGEST_BYTES - done : room;
    uint8_t value[DIGEST_BYTES];
    digest_finish(from->sum, value);
    memcpy(to, value + done, bytes);
    return bytes;
}

/* Content, and after it the digest if the data end in it: less than `wanted` only at the end. False when reading
 * failed.
 */
static bool read_data(source *from, uint8_t *to, size_t wanted, size_t *length)
{
    size_t done = 0;
    while (done < wanted && !from->content_ended) {
        int64_t got = from->kind->read(from, to + done, wanted - done);
        if (got < 0)
            return false;
        from->content_ended = got == 0;
        from->content_bytes += (uint64_t)got;
        done += (size_t)got;
    }
    from->total_bytes += done;
    if (from->sum != NULL)
        digest_add(from->sum, to, done);
    if (done < wanted && from->ends_in_digest) {
        size_t more = read_digest(from, to + done, wanted - done);
        from->total_bytes += more;
        done += more;
    }
    *length = done;
    return true;
}

static bool fill_to_size(source *from, pool_buffer *buffer, bool *last)
{
    uint64_t left = from->size + (from->ends_in_digest ? DIGEST_BYTES : 0) - from->total_bytes;
    size_t length;
    *last = left <= from->capacity;
    if (!read_data(from, buffer->bytes, *last ? (size_t)left : from->capacity, &length))
        return false;
    buffer->length = (uint32_t)length;
    return true;
}

/* Whether a full buffer is the last one shows only by one byte more, or none (an extra empty buffer is legal and ugly:
 * AMB-41, AMB-42). */
static bool fill_to_end(source *from, pool_buffer *buffer, bool *last)
{
    size_t carried = from->has_carry ? 1 : 0;
    size_t length;
    buffer->bytes[0] = from->carry;
    if (!read_data(from, buffer->bytes + carried, from->capacity + 1 - carried, &length))
        return false;
    length += carried;
    from->has_carry = length > from->capacity;
    *last = !from->has_carry;
    if (from->has_carry)
        from->carry = buffer->bytes[--length];
    buffer->length = (uint32_t)length;
    return true;
}

static bool fill(source *from, pool_buffer *buffer, bool *last)
{
    return from->has_size ? fill_to_size(from, buffer, last) : fill_to_end(from, buffer, last);
}

/* ---- the thread ---------------------------------------------------------------------------------------------------
 */

/* Under the mutex. An eventfd takes less than 8 bytes only when its count is at its end: then it is readable anyway. */
static void wake(source *from)
{
    const uint64_t one = 1;
    if (!from->waits)
        return;
    from->waits = false;
    from->signalled = true;
    if (write(from->wake_fd, &one, sizeof one) < 0)
        return;
}

static void fail(source *from)
{
    pthread_mutex_lock(&from->mutex);
    from->failed = true;
    wake(from);
    pthread_mutex_unlock(&from->mutex);
}

/* Waits until one more is to be read. A stream's buffer has room for the byte that follows it. NULL: nothing more is to
 * be read, or memory is short. */
static pool_buffer *take_empty(source *from)
{
    uint8_t *bytes = NULL;
    pthread_mutex_lock(&from->mutex);
    while (from->ready_count >= from->ahead && !from->stopped)
        pthread_cond_wait(&from->room, &from->mutex);
    if (!from->stopped)
        bytes = buffer_pool_take(&from->pool, (size_t)from->capacity + 1);
    pthread_mutex_unlock(&from->mutex);
    if (bytes == NULL && !from->stopped) {
        netblt_fail(&from->read_failure, NETBLT_FAILURE_LOCAL,
                    "not enough memory for buffers: choose a smaller --buffer-size");
        fail(from);
    }
    return bytes == NULL ? NULL : buffer_pool_find(bytes);
}

static void hand_over(source *from, pool_buffer *buffer, bool last)
{
    buffer->index = from->tree == NULL ? 0 : tree_reader_entry(from->tree);
    pthread_mutex_lock(&from->mutex);
    STAILQ_INSERT_TAIL(&from->ready, buffer, next);
    from->ready_count++;
    from->has_last = last;
    wake(from);
    pthread_mutex_unlock(&from->mutex);
}

static void *run(void *context)
{
    source *from = context;
    pool_buffer *buffer;
    bool last = false;
    while (!last && (buffer = take_empty(from)) != NULL) {
        if (!fill(from, buffer, &last)) {
            fail(from);
            break;
        }
        hand_over(from, buffer, last);
    }
    return NULL;
}

void source_read_first(source *from, uint32_t capacity)
{
    pool_buffer *buffer;
    bool last;
    from->capacity = capacity;
    from->ahead = AHEAD_FEWEST;
    buffer = take_empty(from);
    if (buffer == NULL)
        return;
    if (fill(from, buffer, &last))
        hand_over(from, buffer, last);
    else
        fail(from);
}

/* 0, or an errno value. */
static int open_wakes(source *from)
{
    from->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (from->wake_fd >= 0 && !from->has_size)
        from->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return from->wake_fd < 0 || (!from->has_size && from->stop_fd < 0) ? errno : 0;
}

size_t source_buffers_ahead(uint32_t capacity)
{
    size_t ahead = capacity == 0 ? AHEAD_MOST : AHEAD_BYTES / capacity;
    if (ahead < AHEAD_FEWEST)
        return AHEAD_FEWEST;
    return ahead > AHEAD_MOST ? AHEAD_MOST : ahead;
}

int source_start_thread(source *from, uint32_t capacity)
{
    int error = open_wakes(from);
    from->capacity = capacity;
    from->ahead = source_buffers_ahead(capacity);
    if (error == 0)
        error = pthread_create(&from->thread, NULL, run, from);
    from->started = error == 0;
    return error;
}

void source_stop_thread(source *from)
{
    const uint64_t one = 1;
    if (!from->started)
        return;
    pthread_mutex_lock(&from->mutex);
    from->stopped = true;
    pthread_cond_signal(&from->room);
    pthread_mutex_unlock(&from->mutex);
    if (from->tree != NULL)
        tree_reader_stop(from->tree);
    if (from->stop_fd >= 0 && write(from->stop_fd, &one, sizeof one) < 0)
        return; /* cannot be: see wake() */
    pthread_join(from->thread, NULL);
    from->started = false;
}
