/* SPDX-License-Identifier: BSD-2-Clause */
/* Bytes of a part that come before its header and manifest are whole: kept in a file of the partial directory. */
#ifndef NETBLT_CLI_TREE_EARLY_H
#define NETBLT_CLI_TREE_EARLY_H

#include <stddef.h>
#include <stdint.h>

#include "cli/tree/ranges.h"

typedef struct tree_early {
    int dir;
    int fd; /* -1: nothing came */
    byte_ranges ranges;
} tree_early;

void tree_early_init(tree_early *early);
/* Removes the file. */
void tree_early_clear(tree_early *early);
/* Keeps bytes, in the directory `dir`. 0, or an errno value. */
int tree_early_add(tree_early *early, int dir, uint64_t offset, const uint8_t *bytes, size_t length);
/* How many bytes from the beginning on are there. */
uint64_t tree_early_prefix(const tree_early *early);
/* Bytes that are there. 0, or an errno value. */
int tree_early_read(const tree_early *early, uint64_t offset, uint8_t *bytes, size_t length);

#endif
