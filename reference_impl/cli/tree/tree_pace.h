/* SPDX-License-Identifier: BSD-2-Clause */
/* When a tree's files are synced and get their names: often enough, and without waiting for the disk. */
#ifndef NETBLT_CLI_TREE_PACE_H
#define NETBLT_CLI_TREE_PACE_H

#include "cli/tree/tree_content.h"

/* After each group of them: writes the journal, and syncs and gives names when it is time. */
int tree_pace_tend(tree_content *content, netblt_failure *failure);
/* No more comes for now: what came is synced and marked, and what is complete gets its name. 0, or -1 with *failure. */
int tree_pace_keep(tree_content *content, netblt_failure *failure);
/* All files are complete: they get their names. `sync`: they are on disk before. 0, or -1 with *failure. */
int tree_pace_finish(tree_content *content, bool sync, netblt_failure *failure);

#endif
