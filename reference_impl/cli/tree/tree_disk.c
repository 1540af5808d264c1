/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads and writes of whole lengths: see tree_disk.h. */
#include "cli/tree/tree_disk.h"

#include <errno.h>
#include <unistd.h>

/* What one call did: 0, or an errno value. */
static int judge(ssize_t moved)
{
    if (moved > 0)
        return 0;
    if (moved == 0)
        return EIO;
    return errno == EINTR ? 0 : errno;
}

int tree_disk_read(int fd, uint8_t *bytes, size_t length, uint64_t offset)
{
    int error = 0;
    for (size_t done = 0; done < length && error == 0;) {
        ssize_t got = pread(fd, bytes + done, length - done, (off_t)(offset + done));
        error = judge(got);
        done += got > 0 ? (size_t)got : 0;
    }
    return error;
}

int tree_disk_write(int fd, const uint8_t *bytes, size_t length, uint64_t offset)
{
    int error = 0;
    for (size_t done = 0; done < length && error == 0;) {
        ssize_t written = pwrite(fd, bytes + done, length - done, (off_t)(offset + done));
        error = judge(written);
        done += written > 0 ? (size_t)written : 0;
    }
    return error;
}

int tree_disk_append(int fd, const void *bytes, size_t length)
{
    const uint8_t *at = bytes;
    int error = 0;
    for (size_t done = 0; done < length && error == 0;) {
        ssize_t written = write(fd, at + done, length - done);
        error = judge(written);
        done += written > 0 ? (size_t)written : 0;
    }
    return error;
}
