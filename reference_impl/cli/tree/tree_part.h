/* SPDX-License-Identifier: BSD-2-Clause */
/* One part of a tree transfer as its bytes come, in any order: header, manifest, content. */
#ifndef NETBLT_CLI_TREE_PART_H
#define NETBLT_CLI_TREE_PART_H

#include "cli/tree/tree_store_state.h"

/* What has come of it is forgotten. */
void tree_part_clear(tree_store *store);
/* As tree_store_write(). 0, or -1 with *failure. */
int tree_part_take(tree_store *store, uint64_t offset, const uint8_t *bytes, size_t length, netblt_failure *failure);

#endif
