/* SPDX-License-Identifier: BSD-2-Clause */
/* What this user's earlier transfers have shown of the path to the peer, for the end that opens. */
#ifndef NETBLT_CLI_PATH_MEMORY_H
#define NETBLT_CLI_PATH_MEMORY_H

#include "cli/options/options.h"
#include "cli/path_memory/path_list.h"

/* carried_rate.c  the rate that a transfer has shown
 * path_list.c     the list of paths, and its JSON
 * path_file.c     the file
 * path_memory.c   the entry of one command */

typedef struct path_memory {
    int directory; /* of the file; -1: nothing is remembered */
    bool is_known; /* `entry` is what is known of the path */
    path_entry entry;
} path_memory;

/* The environment variable that switches it off, with any value but the empty one. */
#define PATH_MEMORY_OFF_VARIABLE "NETBLT_NO_PATH_MEMORY"

/* Reads what is known of the path from `local` to `peer`. Nothing is, and nothing will be noted, for a passive end, a
 * fixed rate, with --no-path-memory or the environment variable, and where the user has no cache directory. */
void path_memory_open(path_memory *memory, const options *given, const netblt_address *peer,
                      const netblt_address *local);
void path_memory_close(path_memory *memory);

/* Notes what a transfer that is done has shown, here and in the file. */
void path_memory_note(path_memory *memory, const known_path *measured);
/* What is known has misled a transfer: it is not used again by this command. */
void path_memory_distrust(path_memory *memory);

/* For a proposal. NULL: nothing is known, or the user has described the path. */
const known_path *path_memory_for(const path_memory *memory, const options *given);

#endif
