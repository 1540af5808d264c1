/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "cli/source_internal.h"

/* stdin may be shared with other processes, so it is not made non-blocking: asking first does as well, since a read
 * returns what is there. */
static bool would_block(const source *from)
{
    struct pollfd ready = {.fd = from->fd, .events = POLLIN};

    return poll(&ready, 1, 0) == 0;
}

/* Reads up to `room` bytes. FILL_READY with *got = 0 at the end of the stream. */
static enum fill read_some(source *from, uint8_t *to, uint32_t room, uint32_t *got)
{
    ssize_t count;

    if (would_block(from))
        return FILL_WAIT;
    count = read(from->fd, to, room);
    if (count < 0 && (errno == EINTR || errno == EAGAIN))
        return FILL_WAIT;
    if (count < 0) {
        netblt_fail(&from->failure, NETBLT_FAILURE_LOCAL, "cannot read %s: %s", from->name, strerror(errno));
        return FILL_FAILED;
    }
    *got = (uint32_t)count;
    from->at_end = count == 0;
    return FILL_READY;
}

static enum fill fill_up(source *from, uint32_t capacity)
{
    enum fill result = FILL_READY;
    uint32_t got;

    if (from->staged_bytes == 0 && from->has_carry) {
        from->staged[from->staged_bytes++] = from->carry;
        from->has_carry = false;
    }
    while (result == FILL_READY && !from->at_end && from->staged_bytes < capacity) {
        result = read_some(from, from->staged + from->staged_bytes, capacity - from->staged_bytes, &got);
        if (result == FILL_READY)
            from->staged_bytes += got;
    }
    return result;
}

/* Whether a full buffer is the last one shows only by one byte more, or none (an extra empty buffer is legal and ugly:
 * AMB-41, AMB-42). */
static enum fill look_ahead(source *from)
{
    enum fill result;
    uint32_t got;

    if (from->at_end || from->has_carry)
        return FILL_READY;
    result = read_some(from, &from->carry, 1, &got);
    if (result == FILL_READY)
        from->has_carry = got == 1;
    return result;
}

enum fill stream_source_fill(source *from, uint32_t capacity, uint32_t *length, bool *last)
{
    enum fill result = fill_up(from, capacity);

    if (result == FILL_READY)
        result = look_ahead(from);
    if (result != FILL_READY)
        return result;
    if (source_check_size(from, from->supplied + from->staged_bytes + (from->has_carry ? 1 : 0), &from->failure) != 0)
        return FILL_FAILED;
    *length = from->staged_bytes;
    *last = from->at_end;
    return FILL_READY;
}
