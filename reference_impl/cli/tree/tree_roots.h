/* SPDX-License-Identifier: BSD-2-Clause */
/* The paths that a sender was given, opened: what tree_files.c and tree_walk.c share. */
#ifndef NETBLT_CLI_TREE_ROOTS_H
#define NETBLT_CLI_TREE_ROOTS_H

#include <stddef.h>

typedef struct tree_root {
    char *name;  /* first part of the paths of its entries; empty: what it holds has no directory above it */
    char *shown; /* the path that was given, for messages */
    size_t directory;
    char *file; /* its path beneath the directory; NULL: the root is the directory */
} tree_root;

struct tree_files {
    tree_root *roots; /* ascending by their names */
    size_t root_count;
    int *directories; /* O_PATH */
    size_t directory_count;
};

/* Opens what lies at `path` beneath the root ("" is the root itself). No link is followed but those in the path of a
 * root. -1 with errno. */
int tree_root_open(const struct tree_files *files, const tree_root *root, const char *path, int flags);

#endif
