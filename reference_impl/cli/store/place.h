/* SPDX-License-Identifier: BSD-2-Clause */
/* The place of a received file in its directory: a file without a name while it is written, and its final name. */
#ifndef NETBLT_CLI_PLACE_H
#define NETBLT_CLI_PLACE_H

#include <stdbool.h>
#include <stdint.h>

/* At any moment, and after kill -9 at any system call, the target's name holds the old file or the new one, complete.
 *
 * The file has no name while it is written (O_TMPFILE), so nothing of it remains whatever happens. Where that is not
 * possible it is called ".netblt-N", with N from 0 to PLACE_TEMPORARY_NAMES - 1. Where a file must be replaced, a
 * nameless file needs such a name too, between linkat() and renameat(): linkat() itself replaces nothing. A process
 * that is killed then leaves it there. Every file has an exclusive flock() before it has a temporary name and keeps it
 * to its end: a file with a temporary name whose lock can be taken belongs to no process, and place_remove_stale()
 * removes it. */
#define PLACE_TEMPORARY_NAMES 256
#define PLACE_TEMPORARY_NAME_BYTES 24

typedef struct file_place {
    int dir_fd; /* O_PATH */
    char *dir;  /* the directory's path; NULL when only dir_fd counts */
    char *target;
    bool replace;
    bool sync;
    bool named;                                 /* the file has its final name */
    int fd;                                     /* the file, for reading and writing */
    char temporary[PLACE_TEMPORARY_NAME_BYTES]; /* empty while the file has no temporary name */
} file_place;

/* Begins a file that is to be `target` in the directory `dir_fd`, which it takes over. `dir` is the directory's path,
 * which must still mean the same directory at the end, or NULL when only `dir_fd` counts. Without `replace` no file of
 * that name may exist at the end; with `sync` it is on disk before place_settle() returns. Keeps copies of the strings.
 * NULL with errno. */
file_place *place_begin(int dir_fd, const char *dir, const char *target, bool replace, bool sync);
/* Removes a file that has not got its name. NULL is allowed. */
void place_end(file_place *at);

/* Whether the file cannot get its name any more, as its directory was removed or moved. 0, or an errno value. */
int place_find_lost(const file_place *at);

/* The two steps of the end. Each returns 0 or an errno value. */
/* The file's data are on disk, if that is wanted. */
int place_sync(file_place *at);
/* Gives the file its name, in one atomic step, and syncs the directory, if that is wanted. An error of the latter
 * leaves the file there: file_place.named. */
int place_settle(file_place *at);

/* Removes files with temporary names in the directory `dir_fd` that belong to no process any more. */
void place_remove_stale(int dir_fd);

/* Whether `name`, without a directory, is one of the temporary names. */
bool place_is_temporary_name(const char *name);

#endif
