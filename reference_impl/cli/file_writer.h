/* SPDX-License-Identifier: BSD-2-Clause */
/* A thread that writes one received file: buffers to their places, SHA-256, and the end of it on disk. */
#ifndef NETBLT_CLI_FILE_WRITER_H
#define NETBLT_CLI_FILE_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/digest.h"
#include "cli/place.h"

/* Writing, reading back, and above all fsync() can take seconds. The event loop, which serves other peers and keeps
 * this one's connection alive, does none of it: each file that is received has a thread of its own, so that not even
 * another file's fsync() delays it. The thread touches nothing but its file, its digest and its queue. All functions
 * are for the thread of the event loop. */
typedef struct file_writer file_writer;

/* What has become of the file. */
enum file_writer_state {
    FILE_WRITER_WORKS,
    FILE_WRITER_STORED, /* it has its name, and is on disk if that is wanted */
    FILE_WRITER_FAILED, /* see file_writer_error() */
};

/* `at` and `sum` belong to the thread until file_writer_free(). All buffers but the last hold `buffer_bytes`. Whenever
 * there is news, 8 bytes are written to `wake_fd`, an eventfd. NULL with errno. */
file_writer *file_writer_start(file_place *at, digest *sum, uint32_t buffer_bytes, int wake_fd);
/* Stops the thread and waits for it. Takes no buffer back: those that file_writer_take_back() has not returned are the
 * caller's again. NULL is allowed. */
void file_writer_free(file_writer *writer);

/* Hands over buffer `index`, until file_writer_take_back() returns it. False when memory is short. */
bool file_writer_write(file_writer *writer, uint64_t index, uint8_t *data, uint32_t length);
/* All buffers were handed over: when they are written, sync the file and give it its name. */
void file_writer_finish(file_writer *writer);
/* Write no more. The file gets no name, unless it is just getting it. */
void file_writer_abandon(file_writer *writer);

/* A buffer that the thread needs no more, or NULL. */
uint8_t *file_writer_take_back(file_writer *writer);
/* Neither buffers to write nor buffers to take back. */
bool file_writer_is_idle(file_writer *writer);
enum file_writer_state file_writer_look(file_writer *writer);
/* An errno value when the state is FILE_WRITER_FAILED. */
int file_writer_error(file_writer *writer);
/* The thread has ended, so that file_writer_free() need not wait. */
bool file_writer_has_ended(file_writer *writer);

#endif
