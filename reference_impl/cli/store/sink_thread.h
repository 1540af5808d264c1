/* SPDX-License-Identifier: BSD-2-Clause */
/* A sink, and the thread that writes what it receives: buffers to their places in a file, or one after the other into a
 * stream; SHA-256; and the end of it on disk. */
#ifndef NETBLT_CLI_SINK_THREAD_H
#define NETBLT_CLI_SINK_THREAD_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "cli/store/buffer_pool.h"
#include "cli/store/digest.h"
#include "cli/store/place.h"
#include "io/failure.h"

/* Writing, reading back, and above all fsync() can take seconds, and a stream as long as its reader likes. The event
 * loop, which serves other peers and keeps this one's connection alive, does none of it: each transfer that receives
 * has a thread of its own, so that not even another file's fsync() delays it. */
typedef struct sink {
    const char *name; /* for messages */
    file_place *at;   /* a file, written in any order; NULL: a stream, written in the order of the buffers */
    int stream_fd;
    int stop_fd; /* of a stream: an eventfd with which the thread is stopped while it waits for the reader; -1: none */
    int wake_fd; /* an eventfd that gets 8 bytes whenever the thread has news */
    digest *sum; /* the thread's own, from its start to its end, as are `at` and `stream_fd` */
    uint32_t buffer_bytes; /* of all buffers but the last; known once the first is provided */

    /* The event loop's own. */
    buffer_pool pool;
    netblt_failure failure;
    int error; /* an errno value with it */
    bool started;

    /* The thread's own. SHA-256 takes bytes in order, buffers do not come so: those before `hashed` are in, of the
     * others `written` remembers which have come (bit index % 8 of byte index / 8). */
    int stream_error;
    uint64_t size;
    uint64_t hashed;
    uint8_t *written;
    size_t written_bytes;

    /* For both: what the event loop wants, and what the thread has done. */
    pthread_t thread;
    pthread_mutex_t mutex;                  /* of the next three */
    pthread_cond_t changed;                 /* in the queue or the next two */
    STAILQ_HEAD(, pool_buffer) queue, back; /* to be written, and written */
    atomic_bool finishing;                  /* all buffers are in the queue */
    atomic_bool abandoned;
    atomic_int write_error; /* an errno value; EBADMSG: the digest is not the expected one */
    atomic_bool stored;     /* a file has its name, and is on disk if that is wanted; a stream was taken to its end */
    atomic_bool ended;
} sink;

/* The first buffer is there: peers that send nothing cost no thread. 0, or an errno value. */
int sink_start_thread(sink *to);

#endif
