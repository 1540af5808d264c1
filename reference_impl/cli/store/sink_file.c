/* SPDX-License-Identifier: BSD-2-Clause */
/* A file as what a sink writes to: buffers to their places, SHA-256, and its name at the end. See sink_target.h. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/store/sink_target.h"
#include "cli/tree/ranges.h"
#include "cli/tree/tree_disk.h"

/* What is read back at once to hash a buffer that came early. */
#define READ_BACK_BYTES 65536

/* SHA-256 takes bytes in order, buffers do not come so: those before `hashed` are in, of the others `written` remembers
 * which have come. */
typedef struct file_target {
    file_place *at;
    digest *sum;
    uint64_t hashed;
    byte_ranges written;
} file_target;

/* Hashes the bytes up to `end` as they are in the file. */
static int hash_back(file_target *to, uint64_t end)
{
    uint8_t bytes[READ_BACK_BYTES];
    while (to->hashed < end) {
        size_t length = end - to->hashed < sizeof bytes ? (size_t)(end - to->hashed) : sizeof bytes;
        int error = tree_disk_read(to->at->fd, bytes, length, to->hashed);
        if (error != 0)
            return error;
        digest_add(to->sum, bytes, length);
        to->hashed += length;
    }
    return 0;
}

static void begin(void *target)
{
    const file_target *to = target;
    place_remove_stale(to->at->dir_fd);
}

static int write_buffer(void *target, uint64_t offset, const uint8_t *bytes, uint32_t length)
{
    file_target *to = target;
    int error = place_find_lost(to->at); /* it could only fail at the end: better now */
    if (error == 0)
        error = tree_disk_write(to->at->fd, bytes, length, offset);
    if (error == 0)
        error = ranges_add(&to->written, (byte_range){offset, offset + length});
    if (error != 0 || offset != to->hashed)
        return error;
    digest_add(to->sum, bytes, length); /* it is still in memory; buffers that came before it and follow it are not */
    to->hashed += length;
    return hash_back(to, ranges_end(&to->written, to->hashed));
}

/* Data that end in their digest are stored without it, and only if it is right. The sync may take long, so it is asked
 * again before the name is given. */
static int finish(void *target, uint64_t size, const atomic_bool *abandoned, bool *stored)
{
    file_target *to = target;
    int error;
    if (!digest_agrees(to->sum))
        return EBADMSG;
    if (digest_is_expected(to->sum) && ftruncate(to->at->fd, (off_t)(size - DIGEST_BYTES)) != 0)
        return errno;
    error = place_sync(to->at);
    if (error == 0 && !*abandoned)
        error = place_settle(to->at);
    *stored = error == 0 && to->at->named;
    return error;
}

static void do_nothing(void *target)
{
    (void)target;
}

static int directory(const void *target)
{
    const file_target *to = target;
    return to->at->dir_fd;
}

static bool is_stored(const void *target)
{
    const file_target *to = target;
    return to->at->named;
}

static void close_file(void *target)
{
    file_target *to = target;
    place_end(to->at);
    ranges_clear(&to->written);
    free(to);
}

sink_target sink_target_file(file_place *at, digest *sum)
{
    static const sink_target_kind kind = {
        .takes_any_order = true,
        .begin = begin,
        .write = write_buffer,
        .finish = finish,
        .stop = do_nothing,
        .abandon = do_nothing,
        .directory = directory,
        .is_stored = is_stored,
        .close = close_file,
    };
    file_target *to = at == NULL ? NULL : calloc(1, sizeof *to);
    if (to == NULL)
        place_end(at);
    else
        *to = (file_target){.at = at, .sum = sum};
    return (sink_target){&kind, to};
}
