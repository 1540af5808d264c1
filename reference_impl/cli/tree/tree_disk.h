/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads and writes of whole lengths, by a tree's receiver. */
#ifndef NETBLT_CLI_TREE_DISK_H
#define NETBLT_CLI_TREE_DISK_H

#include <stddef.h>
#include <stdint.h>

/* At a place of a file. 0, or an errno value; EIO when the file is shorter than what is read. */
int tree_disk_read(int fd, uint8_t *bytes, size_t length, uint64_t offset);
int tree_disk_write(int fd, const uint8_t *bytes, size_t length, uint64_t offset);
/* At the file's own offset, or at its end if it was opened to append. 0, or an errno value. */
int tree_disk_append(int fd, const void *bytes, size_t length);

#endif
