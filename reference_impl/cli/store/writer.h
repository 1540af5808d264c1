/* SPDX-License-Identifier: BSD-2-Clause */
/* A thread that writes what one transfer receives: buffers to their places in a file, or one after the other into a
 * stream; SHA-256; and the end of it on disk. */
#ifndef NETBLT_CLI_WRITER_H
#define NETBLT_CLI_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/store/digest.h"
#include "cli/store/place.h"

/* Writing, reading back, and above all fsync() can take seconds, and a stream as long as its reader likes. The event
 * loop, which serves other peers and keeps this one's connection alive, does none of it: each transfer that receives
 * has a thread of its own, so that not even another file's fsync() delays it. The thread touches nothing but its
 * target, its digest and its queue. All functions are for the thread of the event loop. */
typedef struct sink_writer sink_writer;

/* Where the bytes go. */
typedef struct writer_target {
    file_place *at; /* a file, written in any order; NULL: a stream, written in the order of the buffers */
    int stream_fd;
    int stop_fd; /* of a stream: an eventfd with which the thread is stopped while it waits for the reader; -1: none */
    int wake_fd; /* an eventfd that gets 8 bytes whenever there is news */
} writer_target;

enum writer_state {
    WRITER_WORKS,
    WRITER_STORED, /* a file has its name, and is on disk if that is wanted; a stream was taken to its end */
    WRITER_FAILED,
};

typedef struct writer_news {
    enum writer_state state;
    int error;  /* an errno value when it has failed; EBADMSG: the digest is not the expected one */
    bool ended; /* the thread has, so that writer_free() need not wait */
} writer_news;

/* Takes over the descriptor of a stream. The rest of the target, and `sum`, belong to the thread until writer_free().
 * All buffers but the last hold `buffer_bytes`. NULL with errno. */
sink_writer *writer_start(const writer_target *to, digest *sum, uint32_t buffer_bytes);
/* Stops the thread and waits for it. Takes no buffer back: those that writer_take_back() has not returned are the
 * caller's again. NULL is allowed. */
void writer_free(sink_writer *writer);

/* Hands over buffer `index`, until writer_take_back() returns it. False when memory is short. */
bool writer_write(sink_writer *writer, uint64_t index, uint8_t *data, uint32_t length);
/* All buffers were handed over: when they are written, sync the file and give it its name. */
void writer_finish(sink_writer *writer);
/* Write no more. The file gets no name, unless it is just getting it. */
void writer_abandon(sink_writer *writer);

/* A buffer that the thread needs no more, or NULL. */
uint8_t *writer_take_back(sink_writer *writer);
writer_news writer_look(sink_writer *writer);

#endif
