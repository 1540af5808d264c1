/* SPDX-License-Identifier: BSD-2-Clause */
/* What a store keeps on disk between steps: the partial directory, the manifest, the held list. */
#ifndef NETBLT_CLI_TREE_KEPT_H
#define NETBLT_CLI_TREE_KEPT_H

#include "cli/tree/tree_store_state.h"

/* Opens or makes the partial directory. 0, or -1 with *failure. */
int tree_kept_open(tree_store *store, netblt_failure *failure);
/* The manifest is `all`, which it takes over: looks at what is there. 0, or -1 with *failure. */
int tree_kept_use(tree_store *store, manifest *all, netblt_failure *failure);
/* The manifest that was kept in the partial directory, if its ID begins with these bytes. *found: it is used now. 0, or
 * -1 with *failure. */
int tree_kept_find(tree_store *store, const uint8_t *id, size_t id_bytes, bool *found, netblt_failure *failure);
/* Makes a new held list. 0, or -1 with *failure. */
int tree_kept_list_held(tree_store *store, netblt_failure *failure);

/* Manifest and content are forgotten. */
void tree_kept_clear(tree_store *store);
/* Lets other threads see how things are. */
void tree_kept_show(tree_store *store);

#endif
