/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/sink_internal.h"

/* stdout may be shared, so it is not made non-blocking. A pipe that polls writable takes so much without blocking
 * (PIPE_BUF on Linux). */
#define PIECE_BYTES 4096

struct piece {
    struct piece *next;
    uint8_t *data;
    uint32_t length;
    uint32_t written;
};

struct stream_sink {
    sink base;
    struct piece *first;
    struct piece *last;
    uint64_t unwritten; /* bytes in all pieces */
};

static void remove_first(struct stream_sink *stream)
{
    struct piece *piece = stream->first;

    stream->first = piece->next;
    if (stream->first == NULL)
        stream->last = NULL;
    sink_discard(&stream->base, piece->data);
    free(piece);
}

static bool would_block(int fd)
{
    struct pollfd ready = {.fd = fd, .events = POLLOUT};

    return poll(&ready, 1, 0) == 0;
}

/* Bytes that may be written now: the newest may be the digest, which is not. */
static uint64_t writable(const struct stream_sink *stream)
{
    uint64_t held = digest_is_expected(stream->base.sum) ? DIGEST_BYTES : 0;

    return stream->unwritten > held ? stream->unwritten - held : 0;
}

/* True when some bytes went out. */
static bool write_piece(struct stream_sink *stream)
{
    struct piece *piece = stream->first;
    size_t left = piece->length - piece->written;
    size_t wanted = left < writable(stream) ? left : (size_t)writable(stream);
    ssize_t written;

    if (would_block(stream->base.fd))
        return false;
    written = write(stream->base.fd, piece->data + piece->written, wanted < PIECE_BYTES ? wanted : PIECE_BYTES);
    if (written < 0) {
        if (errno != EINTR && errno != EAGAIN)
            sink_write_failed(&stream->base, errno);
        return false;
    }
    digest_add(stream->base.sum, piece->data + piece->written, (size_t)written);
    piece->written += (uint32_t)written;
    stream->unwritten -= (uint64_t)written;
    return true;
}

static bool stream_flush(sink *to)
{
    struct stream_sink *stream = (struct stream_sink *)(void *)to;

    while (stream->first != NULL && to->failure.kind == NETBLT_FAILURE_NONE) {
        if (stream->first->written == stream->first->length)
            remove_first(stream);
        else if (writable(stream) == 0)
            return true;
        else if (!write_piece(stream))
            return false;
    }
    return true;
}

static void stream_deliver(sink *to, uint64_t index, uint8_t *data, uint32_t length)
{
    struct stream_sink *stream = (struct stream_sink *)(void *)to;
    struct piece *piece = malloc(sizeof *piece);

    (void)index; /* in order */
    if (piece == NULL) {
        sink_write_failed(to, ENOMEM);
        sink_discard(to, data);
        return;
    }
    *piece = (struct piece){.data = data, .length = length};
    if (stream->last == NULL)
        stream->first = piece;
    else
        stream->last->next = piece;
    stream->last = piece;
    stream->unwritten += length;
    stream_flush(to);
}

static bool stream_commit(sink *to)
{
    struct stream_sink *stream = (struct stream_sink *)(void *)to;
    int fd = to->fd;

    if (writable(stream) > 0)
        return false;
    for (; stream->first != NULL; remove_first(stream))
        digest_add(to->sum, stream->first->data + stream->first->written,
                   stream->first->length - stream->first->written);
    if (!digest_agrees(to->sum)) {
        sink_write_failed(to, EBADMSG);
        return false;
    }
    to->fd = -1;
    if (close(fd) != 0)
        sink_write_failed(to, errno);
    return to->failure.kind == NETBLT_FAILURE_NONE;
}

static void stream_close(sink *to)
{
    struct stream_sink *stream = (struct stream_sink *)(void *)to;

    while (stream->first != NULL)
        remove_first(stream);
}

static const sink_ops stream_ops = {
    .deliver = stream_deliver,
    .flush = stream_flush,
    .commit = stream_commit,
    .close = stream_close,
};

sink *stream_sink_open(const char *name, int fd, netblt_failure *failure)
{
    sink *to = sink_new(sizeof(struct stream_sink), &stream_ops, name, failure);

    if (to == NULL)
        close(fd);
    else
        to->fd = fd;
    return to;
}
