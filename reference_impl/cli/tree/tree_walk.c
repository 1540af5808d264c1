/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds everything beneath the paths that a sender was given, and holes in it: tree_files_walk(). */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/tree/beneath.h"
#include "cli/tree/grow.h"
#include "cli/tree/tree_files.h"
#include "cli/tree/tree_roots.h"

/* How names begin that receivers use for what is not complete. */
#define RESERVED_PREFIX ".netblt-"
/* Of one file. After so many holes all of it is sent, as zeros. */
#define HOLES_MAX 65536

/* A directory that was found and not read yet. */
typedef struct pending {
    struct pending *next;
    char path[];
} pending;

/* One directory is open at a time, however deep the tree is. */
typedef struct walk {
    const tree_files *files;
    const tree_root *root;
    const tree_walk_how *how;
    manifest *all;
    pending *directories;
    hole *holes; /* of the file that is looked at */
    uint32_t hole_count;
    size_t hole_room;
    netblt_failure *failure;
} walk;

static int fail_to_read(const walk *on, const char *path, int error)
{
    return netblt_fail(on->failure, NETBLT_FAILURE_LOCAL, "cannot read %s: %s", path, strerror(error));
}

static int fail_for_memory(const walk *on)
{
    return netblt_fail(on->failure, NETBLT_FAILURE_LOCAL, "not enough memory for so many files");
}

static int skip(const walk *on, const char *path, const char *why)
{
    if (on->how != NULL && on->how->skipped != NULL)
        on->how->skipped(on->how->context, path, why);
    return 0;
}

/* ---- holes ------------------------------------------------------------------------------------------------------ */

static int add_hole(walk *on, uint64_t first, uint64_t end)
{
    hole *holes = grow(on->holes, on->hole_count, &on->hole_room, sizeof *holes);
    if (holes == NULL)
        return ENOMEM;
    on->holes = holes;
    on->holes[on->hole_count++] = (hole){.first = first, .count = end - first};
    return 0;
}

/* The whole pieces of a file of `size` bytes that lie in the hole from `begin` to `end`. */
static int add_pieces_of_hole(walk *on, uint64_t begin, uint64_t end, uint64_t size)
{
    uint64_t first = manifest_pieces(begin); /* which rounds up */
    uint64_t behind = end >= size ? manifest_pieces(size) : end / PIECE_BYTES;
    return behind > first ? add_hole(on, first, behind) : 0;
}

/* A file system that knows no holes reports none. 0, or an errno value. */
static int find_holes(walk *on, int fd, const struct stat *status)
{
    off_t size = status->st_size;
    off_t place = 0;
    int error = 0;
    on->hole_count = 0;
    if (status->st_blocks * 512 >= size)
        return 0;
    while (place < size && error == 0 && on->hole_count < HOLES_MAX) {
        off_t data = lseek(fd, place, SEEK_DATA);
        if (data < 0 && errno != ENXIO)
            return errno == EINVAL ? 0 : errno;
        if (data < 0 || data > size)
            data = size;
        error = data > place ? add_pieces_of_hole(on, (uint64_t)place, (uint64_t)data, (uint64_t)size) : 0;
        place = data < size ? lseek(fd, data, SEEK_HOLE) : size;
        if (place < 0) /* it became shorter */
            return 0;
    }
    return error;
}

/* ---- entries ---------------------------------------------------------------------------------------------------- */

static manifest_entry entry_of(enum entry_kind kind, char *path, const struct stat *status)
{
    return (manifest_entry){.kind = kind,
                            .path = path,
                            .mode = (uint16_t)(status->st_mode & 07777),
                            .mtime_s = status->st_mtim.tv_sec,
                            .mtime_ns = (uint32_t)status->st_mtim.tv_nsec};
}

static int add(walk *on, const manifest_entry *entry)
{
    if (on->how != NULL && on->how->keep != NULL && on->how->keep(on->how->context, entry, on->failure) != 0)
        return -1;
    return manifest_add(on->all, entry) == 0 ? 0 : fail_for_memory(on);
}

/* `fd` is closed. */
static int add_file(walk *on, int fd, char *path)
{
    struct stat status;
    manifest_entry entry;
    int error = fstat(fd, &status) == 0 ? 0 : errno;
    if (error == 0 && !S_ISREG(status.st_mode))
        error = ENOENT;
    if (error == 0)
        error = find_holes(on, fd, &status);
    close(fd);
    if (error != 0)
        return error == ENOMEM ? fail_for_memory(on) : fail_to_read(on, path, error);
    entry = entry_of(ENTRY_FILE, path, &status);
    entry.size = (uint64_t)status.st_size;
    entry.holes = on->hole_count == 0 ? NULL : on->holes;
    entry.hole_count = on->hole_count;
    return add(on, &entry);
}

static int add_link(walk *on, int directory, const char *name, char *path, const struct stat *status)
{
    char target[PATH_MAX];
    ssize_t length = readlinkat(directory, name, target, sizeof target);
    manifest_entry entry = entry_of(ENTRY_LINK, path, status);
    if (length < 0)
        return fail_to_read(on, path, errno);
    if (length == sizeof target)
        return fail_to_read(on, path, ENAMETOOLONG);
    target[length] = '\0';
    entry.target = target;
    return add(on, &entry);
}

static int add_directory(walk *on, char *path, const struct stat *status)
{
    size_t length = strlen(path);
    pending *later = malloc(sizeof *later + length + 1);
    manifest_entry entry = entry_of(ENTRY_DIRECTORY, path, status);
    if (later == NULL)
        return fail_for_memory(on);
    memcpy(later->path, path, length + 1);
    later->next = on->directories;
    on->directories = later;
    return path[0] == '\0' ? 0 : add(on, &entry);
}

/* ---- directories --------------------------------------------------------------------------------------------------
 */

static int add_named_file(walk *on, int directory, const char *name, char *path)
{
    int fd = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd >= 0)
        return add_file(on, fd, path);
    return errno == ENOENT ? skip(on, path, "it was removed meanwhile") : fail_to_read(on, path, errno);
}

/* `above`: the directory's path. */
static int take_name(walk *on, int directory, const char *above, const char *name)
{
    char path[BENEATH_PATH_BYTES];
    struct stat status;
    int length = snprintf(path, sizeof path, "%s%s%s", above, above[0] == '\0' ? "" : "/", name);
    if (length < 0 || (size_t)length >= sizeof path)
        return fail_to_read(on, path, ENAMETOOLONG);
    if (strncmp(name, RESERVED_PREFIX, strlen(RESERVED_PREFIX)) == 0)
        return skip(on, path, "receivers use such names themselves");
    if (fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) != 0)
        return errno == ENOENT ? skip(on, path, "it was removed meanwhile") : fail_to_read(on, path, errno);
    switch (status.st_mode & S_IFMT) {
    case S_IFREG:
        return add_named_file(on, directory, name, path);
    case S_IFDIR:
        return add_directory(on, path, &status);
    case S_IFLNK:
        return add_link(on, directory, name, path, &status);
    default:
        return skip(on, path, "it is neither a file, a directory nor a symbolic link");
    }
}

static bool is_name(const char *name)
{
    return strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

/* `path`: that of its entry. */
static int read_directory(walk *on, const char *path)
{
    const char *root = on->root->name;
    const char *shown = path[0] == '\0' ? on->root->shown : path;
    const char *beneath = path + strlen(root) + (root[0] != '\0' && path[strlen(root)] == '/' ? 1 : 0);
    int fd = tree_root_open(on->files, on->root, beneath, O_RDONLY | O_DIRECTORY);
    DIR *directory = fd < 0 ? NULL : fdopendir(fd);
    const struct dirent *next = NULL;
    int result = 0;
    int error = errno;
    if (directory == NULL) {
        if (fd >= 0)
            close(fd);
        return fail_to_read(on, shown, error);
    }
    do {
        errno = 0;
        next = readdir(directory);
        error = errno;
        if (next != NULL && is_name(next->d_name))
            result = take_name(on, fd, path, next->d_name);
    } while (next != NULL && result == 0);
    closedir(directory);
    return result == 0 && error != 0 ? fail_to_read(on, shown, error) : result;
}

static int walk_root(walk *on)
{
    const tree_root *root = on->root;
    struct stat status;
    int result;
    if (strncmp(root->name, RESERVED_PREFIX, strlen(RESERVED_PREFIX)) == 0)
        return netblt_fail(on->failure, NETBLT_FAILURE_LOCAL, "%s has a name that receivers use themselves: rename it",
                           root->shown);
    if (root->file != NULL) {
        int fd = tree_root_open(on->files, root, "", O_RDONLY | O_NONBLOCK | O_NOCTTY);
        return fd < 0 ? fail_to_read(on, root->shown, errno) : add_file(on, fd, root->name);
    }
    if (fstat(on->files->directories[root->directory], &status) != 0)
        return fail_to_read(on, root->shown, errno);
    result = add_directory(on, root->name, &status);
    while (result == 0 && on->directories != NULL) {
        pending *now = on->directories;
        on->directories = now->next;
        result = read_directory(on, now->path);
        free(now);
    }
    return result;
}

static void clear(walk *on)
{
    while (on->directories != NULL) {
        pending *next = on->directories->next;
        free(on->directories);
        on->directories = next;
    }
    free(on->holes);
}

manifest *tree_files_walk(tree_files *files, const tree_walk_how *how, netblt_failure *failure)
{
    walk on = {.files = files, .how = how, .all = manifest_new(), .failure = failure};
    int result = on.all == NULL ? fail_for_memory(&on) : 0;
    for (size_t i = 0; i < files->root_count && result == 0; i++) {
        on.root = &files->roots[i];
        result = walk_root(&on);
    }
    clear(&on);
    if (result == 0 && manifest_seal(on.all, failure) == 0)
        return on.all;
    manifest_free(on.all);
    return NULL;
}
