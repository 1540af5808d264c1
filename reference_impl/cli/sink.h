/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NETBLT_CLI_SINK_H
#define NETBLT_CLI_SINK_H

#include <stdbool.h>

#include "cli/digest.h"
#include "io/failure.h"

/* Where a receiver's bytes go: a file, written at each buffer's place as buffers complete in any order (file_sink.c),
 * or a stream that takes them one after the other, as fast as its reader likes (stream_sink.c). */
typedef struct sink sink;

/* Makes ready to receive into `path`; "-" is stdout. Nothing shows under the final name before sink_commit().
 * NULL with *failure. */
sink *sink_open(const char *path, netblt_failure *failure);
/* The same for the name `target` in the directory `dir_fd`, which it takes over. Without `replace` a file of that name
 * must not exist by then. `name` is for messages and lives on. */
sink *sink_open_at(int dir_fd, const char *target, bool replace, const char *name, netblt_failure *failure);
/* Removes what was not committed. NULL is allowed. */
void sink_close(sink *to);

/* May buffers come in any order? */
bool sink_takes_any_order(const sink *to);

/* netblt_client.provide, .deliver and .discard. `provide` answers NULL when `most` buffers are out or memory is short;
 * `deliver` takes buffer `index` of a transfer cut into buffers of `capacity` bytes. */
uint8_t *sink_provide(sink *to, uint32_t capacity, size_t most);
void sink_deliver(sink *to, uint64_t index, uint8_t *data, uint32_t length);
void sink_discard(sink *to, uint8_t *data);
/* Nothing was delivered, nothing failed. Then, and when all buffers have come back, another transfer can begin, with
 * buffers of another size. */
bool sink_is_untouched(const sink *to);
void sink_begin_again(sink *to);

/* Writes what waits and can be written without blocking. True when nothing waits any more. */
bool sink_flush(sink *to);
/* Descriptor to wait for (writable) while sink_flush() answers false. */
int sink_fd(const sink *to);
/* NULL as long as all is well. */
const netblt_failure *sink_failure(const sink *to);

/* Everything has arrived: gives the file its name. 0, or -1 (see sink_failure()). Then the digest is known. */
int sink_commit(sink *to);
void sink_digest(const sink *to, char text[DIGEST_TEXT_BYTES]);

#endif
