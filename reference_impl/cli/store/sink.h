/* SPDX-License-Identifier: BSD-2-Clause */
/* Where a receiver's bytes go: a file, a stream or a tree_store. */
#ifndef NETBLT_CLI_SINK_H
#define NETBLT_CLI_SINK_H

#include <stdbool.h>

#include "cli/store/buffer_pool.h"
#include "cli/store/digest.h"
#include "cli/tree/tree_store.h"
#include "io/failure.h"

/* Each target takes the bytes in its own way. A file (place.c) takes each buffer at its offset, in any order, and gets
 * its name at the end. A stream takes the bytes in order, as fast as its reader reads. A tree_store takes the data of a
 * tree transfer. A thread writes to any of them (sink_thread.c). */
typedef struct sink sink;

typedef struct sink_how {
    bool replace; /* a file that has the target's name gives way; else there must be none at the end */
    bool sync;    /* a file is on disk before it counts as stored */
    int wake_fd;  /* an eventfd: becomes readable when sink_collect() or sink_commit() has news */
} sink_how;

/* Makes ready to receive into `path`; "-" is stdout. Nothing shows under the final name before sink_commit().
 * NULL with *failure. */
sink *sink_open(const char *path, const sink_how *how, netblt_failure *failure);
/* Takes over `fd`, which takes bytes as a stream. `name` is for messages and lives on. */
sink *sink_open_stream(int fd, const char *name, const sink_how *how, netblt_failure *failure);
/* The same for the name `target` in the directory `dir_fd`, which it takes over. `dir` is its path, or NULL when only
 * `dir_fd` counts (place.h). `name` is for messages and lives on. */
sink *sink_open_at(int dir_fd, const char *dir, const char *target, const sink_how *how, const char *name,
                   netblt_failure *failure);
/* One part of a tree transfer for `store`, which stays the caller's and lives on until the sink is closed; calls
 * tree_store_begin(). Other transfers follow with sinks of their own. sink_collect() has news of the store as well:
 * tree_store_state() is TREE_RESUMES or TREE_CHANGED when the transfer is to be ended. sink_commit() returns true
 * when the part is stored; TREE_RESUMES at its end is no failure, but it then stays false. No digest is expected or
 * computed. */
sink *sink_open_tree(tree_store *store, const sink_how *how, const char *name, netblt_failure *failure);
/* Removes what was not committed; a tree_store keeps it. NULL is allowed. */
void sink_close(sink *to);

/* May buffers come in any order? */
bool sink_takes_any_order(const sink *to);

/* netblt_client.get_receive_buffer, .deliver and .discard. `get_receive_buffer` returns NULL when `most` buffers are
 * out, and one more that is being written, or memory is short; sink_has_room() is true when to ask again. `deliver`
 * takes buffer `index` of a transfer cut into buffers of `capacity` bytes. */
uint8_t *sink_provide(sink *to, uint32_t capacity, size_t most);
void sink_deliver(sink *to, uint64_t index, uint8_t *data, uint32_t length);
void sink_discard(sink *to, uint8_t *data);
bool sink_has_room(const sink *to, size_t most);
/* So much memory do buffers of `capacity` bytes take that are being written, beside those `most`. */
uint64_t sink_beside_bytes(uint32_t capacity);
/* Takes over buffers of `capacity` bytes that were given out before the sink was there. */
void sink_adopt(sink *to, buffer_pool *early, uint32_t capacity);

/* Takes back buffers that were written, and notes what failed. */
void sink_collect(sink *to);
/* The directory in which the sink will still create, rename or remove files, as an O_PATH descriptor; -1: none. */
int sink_directory(const sink *to);
/* NULL as long as all is well. */
const netblt_failure *sink_failure(const sink *to);
/* The same for the peer, who need not know the file's place: why the data are not stored. Of a tree, which file. */
const char *sink_error_text(const sink *to);
/* Whether the data end in their SHA-256, which is checked and not stored. Before the first buffer is delivered. */
void sink_expect_digest(sink *to, bool expected);

/* Everything has been delivered: stores it permanently, as far as sink_how asks for. Never blocks: false means that it
 * is not stored yet, call again after the next sink_collect(), or that it has failed (sink_failure()). When it returns
 * true the digest is known. */
bool sink_commit(sink *to);
/* The transfer has failed: a file gets no name, unless it is just getting it. */
void sink_abandon(sink *to);
/* Nothing is going on: sink_close() will not block. */
bool sink_is_at_rest(const sink *to);
/* At rest: the file has its name, or the tree is whole, whatever became of the transfer. False for a stream. */
bool sink_is_stored(const sink *to);
/* Empty for a tree. */
void sink_digest(const sink *to, char text[DIGEST_TEXT_BYTES]);

#endif
