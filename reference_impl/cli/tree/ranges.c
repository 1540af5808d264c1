/* SPDX-License-Identifier: BSD-2-Clause */
/* Which bytes of a file have come: see ranges.h. */
#include "cli/tree/ranges.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/tree/grow.h"

/* Most bytes come at the end of what has come, so the search begins there. */
static size_t find_first_touching(const byte_ranges *ranges, uint64_t from)
{
    size_t at = ranges->count;
    while (at > 0 && ranges->all[at - 1].to >= from)
        at--;
    return at;
}

static int make_room(byte_ranges *ranges)
{
    byte_range *all = grow(ranges->all, ranges->count, &ranges->capacity, sizeof *all);
    if (all == NULL)
        return ENOMEM;
    ranges->all = all;
    return 0;
}

int ranges_add(byte_ranges *ranges, byte_range added)
{
    size_t at = find_first_touching(ranges, added.from);
    size_t end = at;
    if (make_room(ranges) != 0)
        return ENOMEM;
    for (; end < ranges->count && ranges->all[end].from <= added.to; end++) {
        if (ranges->all[end].from < added.from)
            added.from = ranges->all[end].from;
        if (ranges->all[end].to > added.to)
            added.to = ranges->all[end].to;
    }
    memmove(ranges->all + at + 1, ranges->all + end, (ranges->count - end) * sizeof *ranges->all);
    ranges->count = ranges->count + 1 - (end - at);
    ranges->all[at] = added;
    return 0;
}

uint64_t ranges_end(const byte_ranges *ranges, uint64_t from)
{
    for (size_t i = 0; i < ranges->count && ranges->all[i].from <= from; i++)
        if (ranges->all[i].to > from)
            return ranges->all[i].to;
    return from;
}

void ranges_clear(byte_ranges *ranges)
{
    free(ranges->all);
    *ranges = (byte_ranges){0};
}
