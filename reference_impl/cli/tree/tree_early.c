/* SPDX-License-Identifier: BSD-2-Clause */
/* Bytes of a part that come early: see tree_early.h. */
#include "cli/tree/tree_early.h"

#include <errno.h>
#include <fcntl.h>
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
    ranges_clear(&early->ranges);
    tree_early_init(early);
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
    return error == 0 ? ranges_add(&early->ranges, (byte_range){offset, offset + length}) : error;
}

uint64_t tree_early_prefix(const tree_early *early)
{
    return ranges_end(&early->ranges, 0);
}

int tree_early_read(const tree_early *early, uint64_t offset, uint8_t *bytes, size_t length)
{
    return tree_disk_read(early->fd, bytes, length, offset);
}
