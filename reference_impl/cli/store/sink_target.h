/* SPDX-License-Identifier: BSD-2-Clause */
/* What a sink's thread writes to: a file, a stream or a tree. */
#ifndef NETBLT_CLI_SINK_TARGET_H
#define NETBLT_CLI_SINK_TARGET_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "cli/store/digest.h"
#include "cli/store/place.h"
#include "cli/tree/tree_store.h"

/* Functions that return an int return 0 or an errno value; EBADMSG: the digest is not the expected one. Those of the
 * thread are called by no other from its start to its end. */
typedef struct sink_target_kind {
    bool takes_any_order; /* write() is called for buffers in any order; otherwise one after the other */

    /* ---- the thread's */
    void (*begin)(void *target);
    int (*write)(void *target, uint64_t offset, const uint8_t *bytes, uint32_t length);
    /* Everything was written, `size` bytes: stores it permanently, unless *abandoned becomes true before it cannot be
     * taken back. *stored: it is. */
    int (*finish)(void *target, uint64_t size, const atomic_bool *abandoned, bool *stored);
    /* It will not be finished. */
    void (*stop)(void *target);

    /* ---- for any thread, at any time */
    /* The thread is to end, whatever it waits for. */
    void (*abandon)(void *target);

    /* ---- the event loop's, before the thread starts or after it ended */
    /* NULL, or: what a failure was, with the name of what could not be stored. */
    const char *(*explain)(const void *target);
    /* Where it will still create, rename or remove files, as an O_PATH descriptor; -1: nowhere. */
    int (*directory)(const void *target);
    /* A file has its final name. */
    bool (*is_stored)(const void *target);
    void (*close)(void *target);
} sink_target_kind;

typedef struct sink_target {
    const sink_target_kind *kind;
    void *self;
} sink_target;

/* Each takes over its first argument, also when it fails; `sum`, which lives on, gets all bytes in their order. `self`
 * is NULL when memory is short, or with errno. */
sink_target sink_target_file(file_place *at, digest *sum);
sink_target sink_target_stream(int fd, digest *sum);
/* The store stays the caller's. */
sink_target sink_target_tree(tree_store *store);

#endif
