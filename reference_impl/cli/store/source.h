/* SPDX-License-Identifier: BSD-2-Clause */
/* Where a sender's bytes come from: a file, a stream or the files of a tree transfer. */
#ifndef NETBLT_CLI_SOURCE_H
#define NETBLT_CLI_SOURCE_H

#include <netblt/endpoint.h>

#include "cli/options/options.h"
#include "cli/store/buffer_pool.h"
#include "cli/store/digest.h"
#include "cli/tree/tree_reader.h"
#include "io/failure.h"

/* The size of a file is known; that of a stream is known at its end. Each buffer is read once, into memory that the
 * core owns until it returns it. The first buffer of a file is read at once, so that a peer whose address is not
 * validated costs no more. A thread reads all others ahead, and hashes (source_thread.c). */
typedef struct source source;

/* What an RFC 998 transfer holds, less the SHA-256 that follows the file. */
#define SOURCE_MAX_BYTES (TRANSFER_MAX_BYTES - DIGEST_BYTES)

/* Opens `path`; "-" is stdin. More than SOURCE_MAX_BYTES are an error unless `beyond_4g`: of a file at once, of a
 * stream when it gets there. NULL with *failure. */
source *source_open(const char *path, bool beyond_4g, netblt_failure *failure);
/* Takes over `fd`, an open file. */
source *source_adopt(int fd, const char *name, bool beyond_4g, netblt_failure *failure);
/* One part of a tree transfer. Everything in *args lives on; `name` too, it is for messages. NULL with *failure. No
 * digest: what ends in it is not a tree. */
source *source_open_tree(const tree_reader_args *args, const char *name, netblt_failure *failure);
/* NULL is allowed. */
void source_close(source *from);

/* The same file once more, read from its own beginning: it needs no right to open the file. Not for a stream or a tree.
 * NULL with *failure. */
source *source_copy(const source *of, netblt_failure *failure);

/* Bytes to come, 0 = not known. Of a tree: of the part, with header, manifest and hashes. */
uint64_t source_size(const source *from);
/* What is read ahead in buffers of `capacity` bytes takes so much memory, beside those that the core has. */
uint64_t source_ahead_bytes(uint32_t capacity);
/* Whether the SHA-256 of the bytes follows them (digest.h). Before the first buffer is supplied. */
void source_end_in_digest(source *from, bool ends);
/* Sends no more of a file than its first `bytes` bytes. False when it has fewer. */
bool source_cut(source *from, uint64_t bytes);
/* netblt_client.get_send_buffer and .release. When reading fails: WAIT for ever, and source_failure() has the reason.
 */
enum netblt_send_buffer source_supply(source *from, uint32_t capacity, const uint8_t **data, uint32_t *length,
                                      bool *last);
void source_release(source *from, const uint8_t *data);
/* NULL as long as all is well. */
const netblt_failure *source_failure(const source *from);
/* The descriptor that becomes readable when get_send_buffer answered WAIT for want of bytes; -1 before it did. */
int source_fd(const source *from);
/* SHA-256 of all bytes supplied, once the last buffer was. Not of a tree. */
void source_digest(source *from, char text[DIGEST_TEXT_BYTES]);

/* Of a tree: where in the content the next part begins; layout_bytes() when this is the last one. */
uint64_t source_tree_end_offset(const source *from);
/* The entry of the manifest in which the last buffer that was supplied ends: what a progress line shows. */
uint32_t source_tree_entry(const source *from);
/* Once the last buffer was supplied: tree_reader_sum(). */
bool source_tree_sum(const source *from, uint32_t entry, uint8_t sum[PIECE_HASH_BYTES]);

#endif
