/* SPDX-License-Identifier: BSD-2-Clause */
/* A stream as what a sink writes to: a pipe, a terminal, a device. See sink_target.h. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "cli/store/sink_target.h"

/* stdout may be shared, so it is not made non-blocking. A pipe that polls writable takes so much without blocking
 * (PIPE_BUF on Linux). */
#define STREAM_PIECE_BYTES 4096

typedef struct stream_target {
    int fd;
    int stop_fd; /* an eventfd with which the thread is stopped while it waits for the reader */
    digest *sum;
    int error;
} stream_target;

/* Bytes of the stream, as fast as its reader takes them. */
static void pass_on(void *context, const uint8_t *bytes, size_t length)
{
    stream_target *to = context;
    while (length > 0 && to->error == 0) {
        struct pollfd ready[] = {{.fd = to->fd, .events = POLLOUT}, {.fd = to->stop_fd, .events = POLLIN}};
        ssize_t written = -1;
        errno = EINTR;
        if (poll(ready, 2, -1) > 0 && ready[1].revents != 0)
            errno = ECANCELED;
        else if (ready[0].revents != 0)
            written = write(to->fd, bytes, length < STREAM_PIECE_BYTES ? length : STREAM_PIECE_BYTES);
        if (written >= 0) {
            bytes += written;
            length -= (size_t)written;
        } else if (errno != EINTR && errno != EAGAIN) {
            to->error = errno;
        }
    }
}

static void begin(void *target)
{
    stream_target *to = target;
    digest_pass_on(to->sum, pass_on, to);
}

static int write_buffer(void *target, uint64_t offset, const uint8_t *bytes, uint32_t length)
{
    stream_target *to = target;
    (void)offset;
    digest_add(to->sum, bytes, length); /* which passes it on, without an expected digest */
    return to->error;
}

static int finish(void *target, uint64_t size, const atomic_bool *abandoned, bool *stored)
{
    stream_target *to = target;
    int fd = to->fd;
    (void)size;
    (void)abandoned;
    if (!digest_agrees(to->sum))
        return EBADMSG;
    to->fd = -1;
    *stored = close(fd) == 0;
    return *stored ? 0 : errno;
}

static void stop(void *target)
{
    (void)target;
}

static void abandon(void *target)
{
    const uint64_t one = 1;
    const stream_target *to = target;
    if (to->stop_fd >= 0 && write(to->stop_fd, &one, sizeof one) < 0)
        return; /* it is set already */
}

static int directory(const void *target)
{
    (void)target;
    return -1;
}

static bool is_stored(const void *target)
{
    (void)target;
    return false;
}

static void close_stream(void *target)
{
    stream_target *to = target;
    if (to->fd >= 0)
        close(to->fd);
    if (to->stop_fd >= 0)
        close(to->stop_fd);
    free(to);
}

sink_target sink_target_stream(int fd, digest *sum)
{
    static const sink_target_kind kind = {
        .begin = begin,
        .write = write_buffer,
        .finish = finish,
        .stop = stop,
        .abandon = abandon,
        .directory = directory,
        .is_stored = is_stored,
        .close = close_stream,
    };
    stream_target *to = calloc(1, sizeof *to);
    if (to == NULL)
        close(fd);
    else
        *to = (stream_target){.fd = fd, .stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), .sum = sum};
    return (sink_target){&kind, to};
}
