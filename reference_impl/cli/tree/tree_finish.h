/* SPDX-License-Identifier: BSD-2-Clause */
/* The end of a tree transfer: final names, directories, links, modes and times. */
#ifndef NETBLT_CLI_TREE_FINISH_H
#define NETBLT_CLI_TREE_FINISH_H

#include "cli/tree/tree_content.h"

/* A file that is CONTENT_CHECKED gets its final name. 0, or -1 with *failure. */
int tree_finish_file(tree_content *content, uint32_t entry, netblt_failure *failure);
/* Such a file is on disk, with mode and time, before it gets its name. 0, or -1 with *failure. */
int tree_finish_sync(tree_content *content, uint32_t entry, netblt_failure *failure);
/* All files are complete: makes everything else and sets all modes and times. 0, or -1 with *failure. */
int tree_finish_all(tree_content *content, netblt_failure *failure);

#endif
