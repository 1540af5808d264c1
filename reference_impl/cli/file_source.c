/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "cli/source_internal.h"

/* Reads the next `wanted` bytes. The file was measured when it was opened: what is appended later is not sent, and what
 * is missing now was promised to the peer. */
static enum fill read_whole(source *from, uint32_t wanted)
{
    while (from->staged_bytes < wanted) {
        ssize_t got = pread(from->fd, from->staged + from->staged_bytes, wanted - from->staged_bytes,
                            (off_t)(from->start + from->supplied + from->staged_bytes));

        if (got > 0) {
            from->staged_bytes += (uint32_t)got;
        } else if (got == 0) {
            netblt_fail(&from->failure, NETBLT_FAILURE_LOCAL, "%s became shorter while it was being sent", from->name);
            return FILL_FAILED;
        } else if (errno != EINTR) {
            netblt_fail(&from->failure, NETBLT_FAILURE_LOCAL, "cannot read %s: %s", from->name, strerror(errno));
            return FILL_FAILED;
        }
    }
    return FILL_READY;
}

enum fill file_source_fill(source *from, uint32_t capacity, uint32_t *length, bool *last)
{
    uint64_t left = from->size - from->supplied;

    *length = left < capacity ? (uint32_t)left : capacity;
    *last = left <= capacity;
    return read_whole(from, *length);
}
