/* SPDX-License-Identifier: BSD-2-Clause */
/* What of a tree is there when a transfer of it begins: under final names, and in the partial directory. */
#ifndef NETBLT_CLI_TREE_LOAD_H
#define NETBLT_CLI_TREE_LOAD_H

#include "cli/tree/tree_content.h"

typedef struct tree_load_args {
    const manifest *all;
    tree_place *place; /* tree_place_use() was called */
    int dir;
    bool checksum;
    const atomic_bool *cancelled; /* a long computation ends with ECANCELED */
} tree_load_args;

/* Looks at what is there, under final names and in the partial directory, and begins a new journal. Everything in *args
 * lives on. Blocks for the disk. NULL with *failure. */
tree_content *tree_load(const tree_load_args *args, netblt_failure *failure);

#endif
