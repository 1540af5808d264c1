/* SPDX-License-Identifier: BSD-2-Clause */
/* When a tree's files are synced and get their names: often enough, and without waiting for the disk. */
#ifndef NETBLT_CLI_TREE_PACE_H
#define NETBLT_CLI_TREE_PACE_H

#include "cli/tree/tree_content.h"

/* After each group of them: writes the journal, and syncs and gives names when it is time. */
int tree_pace_tend(tree_content *content, netblt_failure *failure);
/* Everything that can get its name gets it. `sync`: it is on disk before. */
int tree_pace_flush(tree_content *content, bool sync, netblt_failure *failure);

#endif
