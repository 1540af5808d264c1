/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of files beneath a directory. */
#ifndef NETBLT_CLI_TREE_H
#define NETBLT_CLI_TREE_H

#include <stdbool.h>
#include <sys/stat.h>

#include <netblt/params.h>

/* A directory in which unknown peers name files. Names are relative, and at most NETBLT_STRING_MAX_BYTES long; nothing
 * outside can be reached (cli/tree/beneath.h). */

/* NULL when `name` may be requested, else why not; for the peer, so it has no facts about this host. */
const char *tree_check_name(const char *name);

/* Whether the plain file `name` is there and may be read, without opening it. 0 with *status, or -1 with *reason. */
int tree_look_at_file(int root, const char *name, struct stat *status, const char **reason);

/* The same for a plain file or a directory; the name "." is `root` itself. */
int tree_look_at_any(int root, const char *name, struct stat *status, const char **reason);

/* Opens the plain file `name` for reading. A descriptor, or -1 with *reason. */
int tree_open_file(int root, const char *name, const char **reason);

/* Opens the directory that `name` lies in; *base is its last part. Checks that the file can be made there: it must not
 * exist, or, with `replace`, be a plain file. A descriptor, or -1 with *reason. */
int tree_open_parent(int root, const char *name, bool replace, const char **base, const char **reason);

/* The same for a tree transfer, which compares what exists with what comes: only what is neither a file, a directory
 * nor a link is in its way here. *base is NULL for the name ".": the directory is `root` itself. */
int tree_open_target(int root, const char *name, const char **base, const char **reason);

/* The name, relative to `root`, under which `base` in `directory` (which lies in `root`) is found without passing a
 * link: two names of one file become the same. `base` may be NULL: the directory itself. malloc'd; NULL when memory is
 * short. Without /proc it cannot be known: a copy of `otherwise`. */
char *tree_real_name(int root, int directory, const char *base, const char *otherwise);

#endif
