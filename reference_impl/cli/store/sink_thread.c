/* SPDX-License-Identifier: BSD-2-Clause */
/* The thread that writes what one transfer receives: see sink_thread.h. */
#include "cli/store/sink_thread.h"

#include <unistd.h>

/* ---- the thread ------------------------------------------------------------------------------------------------ */

/* An eventfd takes less than 8 bytes only when its count is at its end: then the loop is awake anyway. */
static void wake(const sink *to)
{
    const uint64_t one = 1;
    if (write(to->wake_fd, &one, sizeof one) < 0)
        return;
}

static int write_buffer(sink *to, const pool_buffer *buffer)
{
    uint64_t offset = buffer->index * to->buffer_bytes;
    if (offset + buffer->length > to->size)
        to->size = offset + buffer->length;
    return to->target.kind->write(to->target.self, offset, buffer->bytes, buffer->length);
}

static void end(sink *to)
{
    bool stored = false;
    if (to->abandoned || to->write_error != 0)
        to->target.kind->stop(to->target.self);
    else
        to->write_error = to->target.kind->finish(to->target.self, to->size, &to->abandoned, &stored);
    to->stored = stored;
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
    to->target.kind->begin(to->target.self);
    while ((buffer = take_next(to)) != NULL) {
        if (to->write_error == 0)
            to->write_error = write_buffer(to, buffer);
        pthread_mutex_lock(&to->mutex);
        STAILQ_INSERT_TAIL(&to->back, buffer, next);
        pthread_mutex_unlock(&to->mutex);
        wake(to);
    }
    end(to);
    to->ended = true;
    wake(to);
    return NULL;
}

int sink_start_thread(sink *to)
{
    int error;
    if (to->started)
        return 0;
    error = pthread_create(&to->thread, NULL, run, to);
    to->started = error == 0;
    return error;
}
