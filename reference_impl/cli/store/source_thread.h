/* SPDX-License-Identifier: BSD-2-Clause */
/* A source, and the thread that reads ahead of the event loop: bytes of a file, a stream or a tree, into buffers; their
 * SHA-256, or the hashes of a tree. */
#ifndef NETBLT_CLI_SOURCE_THREAD_H
#define NETBLT_CLI_SOURCE_THREAD_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "cli/store/buffer_pool.h"
#include "cli/store/digest.h"
#include "cli/tree/tree_reader.h"
#include "io/failure.h"

typedef struct source source;

/* What the bytes of a source come from. The functions are called by the thread, but `close`. */
typedef struct source_kind {
    /* Up to `wanted` bytes; may block. 0 at the end; -1 with source.read_failure. */
    int64_t (*read)(source *from, uint8_t *to, size_t wanted);
    void (*close)(source *from);
} source_kind;

struct source {
    const source_kind *kind;
    const char *name; /* for messages */
    bool beyond_4g;
    bool has_size;  /* `size` is what comes; else the end shows when it comes */
    uint64_t size;  /* bytes, the digest not counted; 0 unless `has_size` */
    uint64_t start; /* of a file: the place of its first byte that is sent */
    int fd;         /* a file or a stream; else -1 */
    int stop_fd;    /* of a stream's thread: an eventfd that ends the wait for its bytes; else -1 */
    int wake_fd;    /* of a thread: an eventfd that is readable when a buffer or a failure is there for which the core
                     * waited; else -1 */
    tree_reader *tree;
    bool ends_in_digest;

    /* The event loop's own. */
    bool started;
    bool signalled; /* under the mutex: wake_fd is readable */
    uint32_t entry; /* of a tree: where the last buffer that was supplied ends */
    netblt_failure failure;

    /* The thread's own, from its start to its end. */
    digest *sum; /* NULL for a tree */
    uint32_t capacity;
    uint64_t content_bytes; /* that were read */
    uint64_t total_bytes;   /* with those of the digest */
    bool content_ended;
    bool has_carry; /* a byte for the next buffer, which was read to learn whether there is one */
    uint8_t carry;
    netblt_failure read_failure; /* for both once it is in `failed` */

    /* For both, under the mutex but for `stopped`. */
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t room; /* the event loop took buffers, or stopped */
    buffer_pool pool;
    STAILQ_HEAD(, pool_buffer) ready; /* in order; pool_buffer.index is the entry of a tree in which it ends */
    size_t ready_count;
    size_t ahead;  /* so many buffers are read before they are wanted */
    bool waits;    /* the core waits for a buffer */
    bool has_last; /* the last buffer is in `ready`, or went to the core */
    bool failed;
    atomic_bool stopped;
};

/* Reads the first buffer of `capacity` bytes without a thread, or fails. A peer whose address is not validated gets no
 * other one: it costs no thread, no descriptor besides the file's, and no memory for what is read ahead. */
void source_read_first(source *from, uint32_t capacity);
/* So many buffers of `capacity` bytes does a thread read ahead. */
size_t source_buffers_ahead(uint32_t capacity);
/* Buffers of `capacity` bytes are wanted. 0, or an errno value. */
int source_start_thread(source *from, uint32_t capacity);
/* Ends it, whatever it waits for but a disk. */
void source_stop_thread(source *from);

#endif
