/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NETBLT_CLI_SINK_INTERNAL_H
#define NETBLT_CLI_SINK_INTERNAL_H

#include <netblt/endpoint.h>

#include "cli/buffer_pool.h"
#include "cli/sink.h"

typedef struct sink_ops {
    void (*deliver)(sink *to, uint64_t index, uint8_t *data, uint32_t length);
    bool (*flush)(sink *to);
    bool (*commit)(sink *to);
    void (*abandon)(sink *to); /* these three may be NULL: nothing to be done, always, never */
    bool (*is_at_rest)(const sink *to);
    bool (*is_stored)(const sink *to);
    void (*close)(sink *to);
} sink_ops;

/* What both kinds have; each kind's struct begins with it. */
struct sink {
    const sink_ops *ops;
    const char *name; /* for messages */
    int fd;           /* a stream; -1: none */
    int directory;    /* of a file, O_PATH; -1: no file */
    bool any_order;
    uint32_t buffer_bytes; /* known once the first buffer is provided */
    buffer_pool pool;
    digest *sum;
    char digest_text[DIGEST_TEXT_BYTES];
    netblt_failure failure;
    int error; /* an errno value with it */
    bool stored;
};

/* NULL with *failure. */
sink *file_sink_open(const char *path, const sink_how *how, netblt_failure *failure);
/* For `target` in the directory `dir_fd`, which it takes over; `name` is for messages and lives on. */
sink *file_sink_open_at(int dir_fd, const char *target, const sink_how *how, const char *name, netblt_failure *failure);
/* Takes over `fd`. */
sink *stream_sink_open(const char *name, int fd, netblt_failure *failure);

/* Allocates `bytes`, which begin with a struct sink, and sets the common part up. */
sink *sink_new(size_t bytes, const sink_ops *ops, const char *name, netblt_failure *failure);
/* Keeps the first failure; "cannot write NAME: ...", with errno's text. */
void sink_write_failed(sink *to, int error);

#endif
