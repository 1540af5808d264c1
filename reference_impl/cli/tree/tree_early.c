/* SPDX-License-Identifier: BSD-2-Clause */
/* Bytes of a part that come early: see tree_early.h. */
#include "cli/tree/tree_early.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/tree/tree_disk.h"

#define EARLY_NAME "early"

void tree_early_init(tree_early *early)
{
    *early = (tree_early){.fd = -1};
}

void tree_early_clear(tree_early *early)
{
    if (early->fd >= 0) {
        unlinkat(early->dir, EARLY_NAME, 0);
        close(early->fd);
    }
    free(early->ranges);
    tree_early_init(early);
}

/* Adds a range, and joins it with its neighbours. */
static int add_range(tree_early *early, early_range added)
{
    size_t at = 0;
    size_t end;
    while (at < early->count && early->ranges[at].to < added.from)
        at++;
    for (end = at; end < early->count && early->ranges[end].from <= added.to; end++) {
        if (early->ranges[end].from < added.from)
            added.from = early->ranges[end].from;
        if (early->ranges[end].to > added.to)
            added.to = early->ranges[end].to;
    }
    if (end == at && early->count == early->capacity) {
        size_t capacity = early->capacity == 0 ? 16 : 2 * early->capacity;
        early_range *ranges = realloc(early->ranges, capacity * sizeof *ranges);
        if (ranges == NULL)
            return ENOMEM;
        early->ranges = ranges;
        early->capacity = capacity;
    }
    memmove(early->ranges + at + 1, early->ranges + end, (early->count - end) * sizeof *early->ranges);
    early->count = early->count + 1 - (end - at);
    early->ranges[at] = added;
    return 0;
}

int tree_early_add(tree_early *early, int dir, uint64_t offset, const uint8_t *bytes, size_t length)
{
    int error;
    if (early->fd < 0) {
        early->dir = dir;
        early->fd = openat(dir, EARLY_NAME, O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    }
    if (early->fd < 0)
        return errno;
    error = tree_disk_write(early->fd, bytes, length, offset);
    return error == 0 ? add_range(early, (early_range){offset, offset + length}) : error;
}

uint64_t tree_early_prefix(const tree_early *early)
{
    return early->count > 0 && early->ranges[0].from == 0 ? early->ranges[0].to : 0;
}

int tree_early_read(const tree_early *early, uint64_t offset, uint8_t *bytes, size_t length)
{
    return tree_disk_read(early->fd, bytes, length, offset);
}
