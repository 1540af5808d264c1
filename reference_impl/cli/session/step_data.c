/* SPDX-License-Identifier: BSD-2-Clause */
/* The data of the steps of a tree transfer: see step_data.h. */
#include "cli/session/step_data.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cli/tree/piece_hash.h"
#include "cli/tree/tree_disk.h"
#include "cli/tree/tree_header.h"
#include "io/clock.h"

#define HELD_NAME "the list of what is there"

void step_follow_store(transfer *work, const tree_store *store)
{
    enum tree_state state = tree_store_state(store);
    if (work->connection == NULL || work->finished)
        return;
    if (state == TREE_RESUMES)
        netblt_abort(work->connection, STEP_RESUME, netblt_clock_now());
    else if (state == TREE_CHANGED)
        netblt_abort(work->connection, STEP_CHANGED, netblt_clock_now());
}

static int fail_with_errno(netblt_failure *failure)
{
    return netblt_fail(failure, NETBLT_FAILURE_LOCAL, "cannot keep " HELD_NAME ": %s", strerror(errno));
}

/* ---- sending ------------------------------------------------------------------------------------------------------
 */

source *step_held_source(const held_list *held, const manifest *all, netblt_failure *failure)
{
    tree_header header = {.data = TREE_HELD, .sum = TREE_SUM_BLAKE3, .list_bytes = held->encoded_bytes};
    uint8_t encoded[TREE_HEADER_BYTES];
    int fd = memfd_create("held", MFD_CLOEXEC);
    memcpy(header.manifest_id, all->id, sizeof header.manifest_id);
    memcpy(header.held_id, held->id, sizeof header.held_id);
    tree_header_encode(&header, encoded);
    if (fd >= 0 && tree_disk_append(fd, encoded, sizeof encoded) == 0 &&
        tree_disk_append(fd, held->encoded, held->encoded_bytes) == 0 && lseek(fd, 0, SEEK_SET) == 0)
        return source_adopt(fd, HELD_NAME, false, failure);
    fail_with_errno(failure);
    if (fd >= 0)
        close(fd);
    return NULL;
}

/* ---- receiving ----------------------------------------------------------------------------------------------------
 */

static uint64_t most_bytes(const held_inbox *box)
{
    return box->most_bytes == 0 ? HELD_MAX_BYTES : box->most_bytes;
}

/* A peer may send any number of bytes: the file cannot grow beyond the largest held list. */
static int open_bounded(const held_inbox *box)
{
    int fd = memfd_create("held", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd >= 0 && ftruncate(fd, (off_t)(TREE_HEADER_BYTES + most_bytes(box))) == 0 &&
        fcntl(fd, F_ADD_SEALS, F_SEAL_GROW) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

sink *held_inbox_open(held_inbox *box, const sink_how *how, netblt_failure *failure)
{
    int writer;
    box->fd = open_bounded(box);
    writer = box->fd < 0 ? -1 : fcntl(box->fd, F_DUPFD_CLOEXEC, 3);
    if (writer >= 0)
        return sink_open_stream(writer, HELD_NAME, how, failure);
    fail_with_errno(failure);
    held_inbox_close(box);
    return NULL;
}

static int read_all(int fd, void *to, uint64_t length, uint64_t offset)
{
    uint8_t *bytes = to;
    while (length > 0) {
        ssize_t got = pread(fd, bytes, length, (off_t)offset);
        if (got == 0 || (got < 0 && errno != EINTR))
            return -1;
        bytes += got > 0 ? got : 0;
        offset += got > 0 ? (uint64_t)got : 0;
        length -= got > 0 ? (uint64_t)got : 0;
    }
    return 0;
}

static int read_header(const held_inbox *box, const uint8_t manifest_id[STEP_ID_BYTES], tree_header *header,
                       netblt_failure *failure)
{
    uint8_t encoded[TREE_HEADER_BYTES];
    if (read_all(box->fd, encoded, sizeof encoded, 0) != 0)
        return fail_with_errno(failure);
    if (tree_header_decode(encoded, header, failure) != 0)
        return -1;
    if (header->data != TREE_HELD || header->list_bytes > most_bytes(box) ||
        memcmp(header->manifest_id, manifest_id, STEP_ID_BYTES) != 0)
        return netblt_fail(failure, NETBLT_FAILURE_LOCAL, HELD_NAME " at the receiver is not what was requested");
    return 0;
}

/* An empty list has no hash: its ID is zeros. */
static bool has_hash(const uint8_t *bytes, uint64_t length, const uint8_t wanted[STEP_ID_BYTES])
{
    static const uint8_t none[STEP_ID_BYTES];
    uint8_t hash[PIECE_HASH_BYTES];
    blake3_of(bytes, length, hash);
    return memcmp(hash, wanted, STEP_ID_BYTES) == 0 || memcmp(none, wanted, STEP_ID_BYTES) == 0;
}

uint8_t *held_inbox_take(held_inbox *box, const uint8_t manifest_id[STEP_ID_BYTES], uint64_t *length,
                         uint8_t held_id[STEP_ID_BYTES], netblt_failure *failure)
{
    tree_header header = {.list_bytes = 0};
    uint8_t *bytes = NULL;
    if (read_header(box, manifest_id, &header, failure) != 0)
        return NULL;
    bytes = malloc(header.list_bytes > 0 ? header.list_bytes : 1);
    if (bytes == NULL || read_all(box->fd, bytes, header.list_bytes, TREE_HEADER_BYTES) != 0)
        fail_with_errno(failure);
    else if (!has_hash(bytes, header.list_bytes, header.held_id))
        netblt_fail(failure, NETBLT_FAILURE_LOCAL, HELD_NAME " at the receiver is damaged");
    else {
        *length = header.list_bytes;
        memcpy(held_id, header.held_id, STEP_ID_BYTES);
        return bytes;
    }
    free(bytes);
    return NULL;
}

void held_inbox_close(held_inbox *box)
{
    if (box->fd >= 0)
        close(box->fd);
    box->fd = -1;
}
