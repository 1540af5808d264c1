/* SPDX-License-Identifier: BSD-2-Clause */
/* A sink, and the thread that writes what it receives to its target. */
#ifndef NETBLT_CLI_SINK_THREAD_H
#define NETBLT_CLI_SINK_THREAD_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "cli/store/buffer_pool.h"
#include "cli/store/digest.h"
#include "cli/store/sink_target.h"
#include "io/failure.h"

/* Writing, reading back, and above all fsync() can take seconds, and a stream as long as its reader likes. The event
 * loop, which serves other peers and keeps this one's connection alive, does none of it: each transfer that receives
 * has a thread of its own, so that not even another file's fsync() delays it. */
typedef struct sink {
    const char *name; /* for messages */
    sink_target target;
    int wake_fd;           /* an eventfd that gets 8 bytes whenever the thread has news */
    digest *sum;           /* the target's, while the thread runs; NULL: a tree, which has hashes of its own */
    uint32_t buffer_bytes; /* of all buffers but the last; known once the first is provided */

    /* The event loop's own. */
    buffer_pool pool;
    netblt_failure failure;
    int error; /* an errno value with it */
    bool started;

    /* The thread's own. */
    uint64_t size; /* of what came */

    /* For both: what the event loop wants, and what the thread has done. */
    pthread_t thread;
    pthread_mutex_t mutex;                  /* of the next three */
    pthread_cond_t changed;                 /* in the queue or the next two */
    STAILQ_HEAD(, pool_buffer) queue, back; /* to be written, and written */
    atomic_bool finishing;                  /* all buffers are in the queue */
    atomic_bool abandoned;
    atomic_int write_error; /* an errno value; EBADMSG: the digest is not the expected one */
    atomic_bool stored;     /* by the target's finish() */
    atomic_bool ended;
} sink;

/* The first buffer is there: peers that send nothing cost no thread. 0, or an errno value. */
int sink_start_thread(sink *to);

#endif
