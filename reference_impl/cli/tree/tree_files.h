/* SPDX-License-Identifier: BSD-2-Clause */
/* The files of a sender: the paths that the user names, their manifest, and the bytes of its entries. */
#ifndef NETBLT_CLI_TREE_FILES_H
#define NETBLT_CLI_TREE_FILES_H

#include "cli/tree/manifest.h"

/* Directories and files are opened beneath directories that are opened when it begins, so that the sandbox can confine
 * the process to these, and no link that is exchanged meanwhile leads out of them. */
typedef struct tree_files tree_files;

/* Opens the directories in which the paths lie; does not walk yet. A path is sent under its last part ("." and ".."
 * under the name of the directory that they mean); two paths with the same last part are an error. NULL with
 * *failure. */
tree_files *tree_files_open(const char *const *paths, size_t count, netblt_failure *failure);
/* One path beneath the open directory `root` (netblt listen); no link is followed out of it. `name` may name a file or
 * a directory; empty or ".": everything in `root`, without a directory above it. NULL with *failure. */
tree_files *tree_files_open_beneath(int root, const char *name, netblt_failure *failure);
void tree_files_close(tree_files *files); /* NULL is allowed */
/* O_PATH descriptors of the directories, for the sandbox. */
size_t tree_files_directories(const tree_files *files, const int **directories);

/* What the caller of a walk may want to know or to limit. All may be NULL. */
typedef struct tree_walk_how {
    /* An entry is left out, and why. */
    void (*skipped)(void *context, const char *path, const char *why);
    /* Before an entry is added. -1 with *failure ends the walk: it takes too much memory, or is no longer wanted. */
    int (*keep)(void *context, const manifest_entry *entry, netblt_failure *failure);
    void *context;
} tree_walk_how;

/* Walks everything and returns its sealed manifest: holes are found with SEEK_HOLE; sockets, FIFOs, devices and the
 * names that receivers use for themselves (.netblt-*) are left out. An unreadable file or directory is an error that
 * names it. NULL with *failure. */
manifest *tree_files_walk(tree_files *files, const tree_walk_how *how, netblt_failure *failure);

/* Opens the file of `entry` for reading. -1 with errno. */
int tree_files_read(const tree_files *files, const manifest_entry *entry);

#endif
