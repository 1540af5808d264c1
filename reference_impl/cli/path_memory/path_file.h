/* SPDX-License-Identifier: BSD-2-Clause */
/* The file of the list of paths, in a directory of the user's cache. */
#ifndef NETBLT_CLI_PATH_FILE_H
#define NETBLT_CLI_PATH_FILE_H

#include "cli/path_memory/path_list.h"

#define PATH_FILE_NAME "paths.json"

/* Opens the directory of the file, which is made with mode 0700 where it is missing: $XDG_CACHE_HOME/netblt, or
 * $HOME/.cache/netblt. A file descriptor, or -1 with *reason (a constant string): no home, no permission, or a
 * directory that belongs to another user or that others may write to. */
int path_file_open_directory(const char **reason);

enum path_file_state {
    PATH_FILE_READ,
    PATH_FILE_NONE,    /* there is none, or it cannot be read */
    PATH_FILE_DAMAGED, /* it is no list of paths; the next one that is written replaces it */
};
/* Reads the file; *all is empty unless it was read. */
enum path_file_state path_file_read(int directory, path_list *all);

/* Adds a measurement to the list in the file, which is replaced in one atomic step, with mode 0600. Processes that do
 * this at the same time wait for each other, for a short time: then nothing is noted. False with errno. */
bool path_file_note(int directory, const path_entry *measured);

#endif
