/* SPDX-License-Identifier: BSD-2-Clause */
/* Opens files beneath a directory that is held open, and never anything outside of it. */
#ifndef NETBLT_CLI_BENEATH_H
#define NETBLT_CLI_BENEATH_H

#include <stdbool.h>

/* Of a path, with its NUL. */
#define BENEATH_PATH_BYTES 4096

/* Nothing outside of `directory` can be reached, whatever links there are and whatever directories are renamed
 * meanwhile: the kernel resolves the path beneath it in one step (openat2, RESOLVE_BENEATH), or, where it cannot, we
 * walk it and follow no link at all. `path` is relative, at most BENEATH_PATH_BYTES - 1 long, without empty parts, "."
 * and "..". `flags` as for openat(), without O_CREAT; O_CLOEXEC is added. A descriptor, or -1 with errno: EXDEV or
 * ELOOP for a link that is not followed. */
int beneath_open(int directory, const char *path, int flags);
/* The same, and no link is followed wherever it leads; O_PATH | O_NOFOLLOW opens a link itself that ends the path. */
int beneath_open_without_links(int directory, const char *path, int flags);

/* For tests: behave as on a kernel without openat2. */
void beneath_walk_always(bool always);

#endif
