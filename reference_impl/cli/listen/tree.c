/* SPDX-License-Identifier: BSD-2-Clause */
/* The directory of netblt listen: which names peers may use in it, and how they are opened beneath it. */
#include "cli/listen/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/listen/entry_rules.h"
#include "cli/store/place.h"
#include "cli/tree/beneath.h"

/* "/proc/self/fd/" and a descriptor */
#define OWN_NAME_BYTES 40

/* Reasons are short: in a REFUSED that is no longer than the OPEN it answers, 27 characters are sure to fit. */

/* ---- names ---------------------------------------------------------------------------------------------------- */

const char *tree_check_name(const char *name)
{
    char copy[NETBLT_STRING_MAX_BYTES + 1];
    char *rest = copy;
    bool temporary = false; /* what another peer is just storing */
    if (name[0] == '\0')
        return "client string: no file name";
    if (name[0] == '/')
        return "file name must be relative";
    if (entry_has_control_character(name))
        return "control character in name";
    snprintf(copy, sizeof copy, "%s", name);
    while (rest != NULL) {
        const char *part = strsep(&rest, "/");
        temporary = temporary || place_is_temporary_name(part);
        if (part[0] == '\0' || strcmp(part, ".") == 0 || strcmp(part, "..") == 0)
            return "no empty part, no . or ..";
    }
    return temporary ? "no such file" : NULL;
}

/* ---- what any peer may know ------------------------------------------------------------------------------------- */

static const char *explain(int error)
{
    switch (error) {
    case ENOENT:
    case ENOTDIR:
    case ENAMETOOLONG:
        return "no such file or directory";
    case EXDEV: /* RESOLVE_BENEATH: a link leads out */
    case ELOOP:
        return "a link that is not followed";
    case EACCES:
    case EPERM:
    case EROFS:
        return "permission denied";
    default:
        return "the server cannot open it";
    }
}

static int fail(const char **reason, const char *text)
{
    *reason = text;
    return -1;
}

static bool is_same_file(int a, int b)
{
    struct stat one;
    struct stat other;
    return fstat(a, &one) == 0 && fstat(b, &other) == 0 && one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

/* What `file` holds, opened to read. Without /proc that goes by the name alone, which may mean another file by now. */
static int reopen(int file, int root, const char *name)
{
    char own[OWN_NAME_BYTES];
    int fd;
    snprintf(own, sizeof own, "/proc/self/fd/%d", file);
    fd = open(own, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT)
        fd = beneath_open(root, name, O_RDONLY | O_NONBLOCK | O_NOCTTY);
    if (fd >= 0 && !is_same_file(fd, file)) {
        close(fd);
        errno = ENOENT;
        return -1;
    }
    return fd;
}

/* First it is looked at without being opened: a FIFO would wake the program that waits to write into it, and some
 * devices do things when they are opened. A descriptor for no reading, or -1 with *reason. */
static int look_at(int root, const char *name, bool directories, struct stat *status, const char **reason)
{
    int file = strcmp(name, ".") == 0 ? dup(root) : beneath_open(root, name, O_PATH);
    if (file < 0)
        return fail(reason, explain(errno));
    if (fstat(file, status) != 0)
        *reason = explain(errno);
    else if (S_ISLNK(status->st_mode)) /* where the walk stops */
        *reason = explain(ELOOP);
    else if (!S_ISREG(status->st_mode) && !directories)
        *reason = "not a plain file";
    else if (!S_ISREG(status->st_mode) && !S_ISDIR(status->st_mode))
        *reason = "not a file or directory";
    else
        return file;
    close(file);
    return -1;
}

static int look_at_readable(int root, const char *name, bool directories, struct stat *status, const char **reason)
{
    int file = look_at(root, name, directories, status, reason);
    bool readable;
    if (file < 0)
        return -1;
    /* Where the kernel cannot report it (before 5.8), opening the file shows it. */
    readable = faccessat(file, "", R_OK, AT_EACCESS | AT_EMPTY_PATH) == 0 || errno != EACCES;
    close(file);
    return readable ? 0 : fail(reason, explain(EACCES));
}

int tree_look_at_file(int root, const char *name, struct stat *status, const char **reason)
{
    return look_at_readable(root, name, false, status, reason);
}

int tree_look_at_any(int root, const char *name, struct stat *status, const char **reason)
{
    return look_at_readable(root, name, true, status, reason);
}

int tree_open_file(int root, const char *name, const char **reason)
{
    struct stat status;
    int file = look_at(root, name, false, &status, reason);
    int fd;
    if (file < 0)
        return -1;
    fd = reopen(file, root, name);
    *reason = fd < 0 ? explain(errno) : NULL;
    close(file);
    return fd;
}

/* The directory that `name` lies in, and its last part. A descriptor, or -1 with *reason. */
static int open_parent(int root, const char *name, const char **base, const char **reason)
{
    const char *slash = strrchr(name, '/');
    char parent[NETBLT_STRING_MAX_BYTES + 1];
    int dir;
    *base = slash == NULL ? name : slash + 1;
    snprintf(parent, sizeof parent, "%.*s", slash == NULL ? 0 : (int)(slash - name), name);
    dir = slash == NULL ? dup(root) : beneath_open(root, parent, O_PATH | O_DIRECTORY);
    return dir < 0 ? fail(reason, explain(errno)) : dir;
}

int tree_open_parent(int root, const char *name, bool replace, const char **base, const char **reason)
{
    struct stat status;
    int dir = open_parent(root, name, base, reason);
    if (dir < 0)
        return -1;
    if (fstatat(dir, *base, &status, AT_SYMLINK_NOFOLLOW) != 0) {
        if (errno == ENOENT)
            return dir;
        *reason = explain(errno);
    } else if (!S_ISREG(status.st_mode)) {
        *reason = "exists and is no plain file";
    } else if (replace) {
        return dir;
    } else {
        *reason = "exists, not to be replaced";
    }
    close(dir);
    return -1;
}

int tree_open_target(int root, const char *name, const char **base, const char **reason)
{
    struct stat status;
    int dir;
    if (strcmp(name, ".") == 0) {
        *base = NULL;
        dir = dup(root);
        return dir < 0 ? fail(reason, explain(errno)) : dir;
    }
    dir = open_parent(root, name, base, reason);
    if (dir < 0)
        return -1;
    if (fstatat(dir, *base, &status, AT_SYMLINK_NOFOLLOW) != 0) {
        if (errno == ENOENT)
            return dir;
        *reason = explain(errno);
    } else if (!S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode) && !S_ISLNK(status.st_mode)) {
        *reason = "exists and is no plain file";
    } else {
        return dir;
    }
    close(dir);
    return -1;
}

/* ---- real names ------------------------------------------------------------------------------------------------- */

/* The path of an open directory; empty when it cannot be known. */
static void path_of(int directory, char path[PATH_MAX])
{
    char own[OWN_NAME_BYTES];
    ssize_t length;
    snprintf(own, sizeof own, "/proc/self/fd/%d", directory);
    length = readlink(own, path, PATH_MAX - 1);
    path[length < 0 ? 0 : length] = '\0';
}

/* `path` without `root` before it; NULL when it is not beneath it. */
static const char *path_in(const char *path, const char *root)
{
    size_t length = strcmp(root, "/") == 0 ? 0 : strlen(root);
    if (path[0] != '/' || root[0] != '/' || strncmp(path, root, length) != 0)
        return NULL;
    return path[length] == '/' ? path + length + 1 : path[length] == '\0' ? path + length : NULL;
}

char *tree_real_name(int root, int directory, const char *base, const char *otherwise)
{
    char root_path[PATH_MAX];
    char path[PATH_MAX];
    char *name = NULL;
    const char *inside;
    path_of(root, root_path);
    path_of(directory, path);
    inside = path_in(path, root_path);
    if (inside == NULL)
        return strdup(otherwise);
    if (base == NULL)
        return strdup(inside);
    return asprintf(&name, "%s%s%s", inside, inside[0] == '\0' ? "" : "/", base) < 0 ? NULL : name;
}
