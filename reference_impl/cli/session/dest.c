/* SPDX-License-Identifier: BSD-2-Clause */
/* The rules for DEST: see dest.h. */
#include "cli/session/dest.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/tree/tree_store.h"

static int fail(const char *path, netblt_failure *failure)
{
    return netblt_fail(failure, NETBLT_FAILURE_LOCAL, "cannot write %s: %s; its directory must exist and be writable",
                       path, strerror(errno));
}

static bool ends_in_slash(const char *path)
{
    size_t length = strlen(path);
    return length > 0 && path[length - 1] == '/';
}

static bool is_directory(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/* A device, a FIFO, a terminal is written to, as any program would. */
static bool is_stream(const char *path)
{
    struct stat status;
    return strcmp(path, "-") == 0 || (stat(path, &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode));
}

static int open_directory(const char *path)
{
    return open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* Splits a path into directory and name; a file that is a link stays one, so the name is that of its target. */
static int open_name(const char *path, dest *to)
{
    char *real = is_directory(path) ? NULL : realpath(path, NULL);
    char *for_directory = strdup(real != NULL ? real : path);
    char *for_name = strdup(real != NULL ? real : path);
    to->directory = -1;
    if (for_directory != NULL && for_name != NULL) {
        to->directory = open_directory(dirname(for_directory));
        to->name = strdup(basename(for_name));
    }
    free(real);
    free(for_directory);
    free(for_name);
    return to->directory >= 0 && to->name != NULL ? 0 : -1;
}

static bool is_dangling_link(const char *path)
{
    struct stat status;
    return lstat(path, &status) == 0 && S_ISLNK(status.st_mode) && stat(path, &status) != 0;
}

/* "photos" that an interrupted transfer has begun is the photos of the peer, and not what they lie in. */
static bool was_begun(const char *path, dest *to)
{
    if (open_name(path, to) == 0 && strcmp(to->name, ".") != 0 && strcmp(to->name, "..") != 0 &&
        strcmp(to->name, "/") != 0 && tree_store_is_left(to->directory, to->name))
        return true;
    dest_close(to);
    return false;
}

static int open_beneath(const char *path, dest *to, netblt_failure *failure)
{
    if (ends_in_slash(path) && mkdir(path, 0777) != 0 && errno != EEXIST)
        return fail(path, failure);
    to->kind = DEST_BENEATH;
    to->directory = open_directory(path);
    return to->directory >= 0 ? 0 : fail(path, failure);
}

int dest_open(const char *path, dest *to, netblt_failure *failure)
{
    *to = (dest){.kind = DEST_STREAM, .directory = -1};
    if (is_stream(path))
        return 0;
    to->kind = DEST_NAME;
    if (is_directory(path) && !ends_in_slash(path) && was_begun(path, to))
        return 0;
    if (ends_in_slash(path) || is_directory(path))
        return open_beneath(path, to, failure);
    if (is_dangling_link(path))
        return netblt_fail(failure, NETBLT_FAILURE_LOCAL, "cannot write %s: it is a link that leads nowhere", path);
    return open_name(path, to) == 0 ? 0 : fail(path, failure);
}

void dest_close(dest *to)
{
    if (to->directory > 0)
        close(to->directory);
    free(to->name);
    to->directory = -1;
    to->name = NULL;
}
