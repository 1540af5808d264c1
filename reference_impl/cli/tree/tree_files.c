/* SPDX-License-Identifier: BSD-2-Clause */
/* The paths that a sender was given, and files beneath them: see tree_files.h. */
#include "cli/tree/tree_files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/tree/beneath.h"
#include "cli/tree/tree_roots.h"

static int fail_to_read(netblt_failure *failure, const char *path, int error)
{
    return netblt_fail(failure, NETBLT_FAILURE_LOCAL, "cannot read %s: %s", path, strerror(error));
}

static int fail_for_memory(netblt_failure *failure)
{
    return netblt_fail(failure, NETBLT_FAILURE_LOCAL, "not enough memory");
}

/* ---- roots ----------------------------------------------------------------------------------------------------- */

/* Takes over `fd`. The directory's number, or SIZE_MAX with errno. */
static size_t add_directory(tree_files *files, int fd)
{
    int *directories = realloc(files->directories, (files->directory_count + 1) * sizeof *directories);
    if (directories == NULL) {
        close(fd);
        errno = ENOMEM;
        return SIZE_MAX;
    }
    files->directories = directories;
    files->directories[files->directory_count] = fd;
    return files->directory_count++;
}

/* Thousands of files may be named that lie in one directory. */
static size_t find_directory(const tree_files *files, const struct stat *wanted)
{
    struct stat status;
    for (size_t i = files->directory_count; i > 0; i--)
        if (fstat(files->directories[i - 1], &status) == 0 && status.st_dev == wanted->st_dev &&
            status.st_ino == wanted->st_ino)
            return i - 1;
    return SIZE_MAX;
}

/* `path` without a link. The directory's number, or SIZE_MAX with errno. */
static size_t open_directory(tree_files *files, const char *path)
{
    struct stat status;
    int fd = open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    size_t known;
    if (fd < 0)
        return SIZE_MAX;
    known = fstat(fd, &status) == 0 ? find_directory(files, &status) : SIZE_MAX;
    if (known == SIZE_MAX)
        return add_directory(files, fd);
    close(fd);
    return known;
}

/* Takes over the strings of *root, and frees them when memory is short. */
static int add_root(tree_files *files, const tree_root *root, netblt_failure *failure)
{
    tree_root *roots = realloc(files->roots, (files->root_count + 1) * sizeof *roots);
    if (roots != NULL)
        files->roots = roots;
    if (roots != NULL && root->name != NULL && root->shown != NULL) {
        roots[files->root_count++] = *root;
        return 0;
    }
    free(root->name);
    free(root->shown);
    free(root->file);
    return fail_for_memory(failure);
}

/* The last part of `path`, without the slashes that follow it, as a new string. NULL when memory is short. */
static char *copy_last_part(const char *path)
{
    size_t end = strlen(path);
    size_t begin;
    while (end > 0 && path[end - 1] == '/')
        end--;
    begin = end;
    while (begin > 0 && path[begin - 1] != '/')
        begin--;
    return strndup(path + begin, end - begin);
}

/* What `real`, a path without links, means: a directory, or a file and the directory in which it lies. */
static int find_place(tree_files *files, char *real, tree_root *root, netblt_failure *failure)
{
    struct stat status;
    char *slash = strrchr(real, '/');
    bool is_file;
    if (lstat(real, &status) != 0)
        return fail_to_read(failure, root->shown, errno);
    is_file = S_ISREG(status.st_mode);
    if (!is_file && !S_ISDIR(status.st_mode))
        return netblt_fail(failure, NETBLT_FAILURE_LOCAL, "%s is neither a file nor a directory", root->shown);
    if (is_file) {
        root->file = strdup(slash + 1);
        if (root->file == NULL)
            return fail_for_memory(failure);
        slash[slash == real ? 1 : 0] = '\0';
    }
    root->directory = open_directory(files, real);
    return root->directory == SIZE_MAX ? fail_to_read(failure, root->shown, errno) : 0;
}

/* A link that the user names is followed, and keeps its own name. */
static int open_root(tree_files *files, const char *path, netblt_failure *failure)
{
    tree_root root = {.shown = strdup(path)};
    char *real = realpath(path, NULL);
    int error = errno;
    if (real != NULL && root.shown != NULL)
        root.name = copy_last_part(path);
    if (root.name != NULL && (root.name[0] == '\0' || strcmp(root.name, ".") == 0 || strcmp(root.name, "..") == 0)) {
        free(root.name);
        root.name = copy_last_part(real);
    }
    if (real == NULL || root.name == NULL)
        fail_to_read(failure, path, real == NULL ? error : ENOMEM);
    else if (root.name[0] == '\0')
        netblt_fail(failure, NETBLT_FAILURE_LOCAL, "%s has no name to be sent under: name directories beneath it",
                    path);
    else if (find_place(files, real, &root, failure) == 0) {
        free(real);
        return add_root(files, &root, failure);
    }
    free(real);
    free(root.name);
    free(root.shown);
    free(root.file);
    return -1;
}

static int compare_roots(const void *one, const void *other)
{
    return strcmp(((const tree_root *)one)->name, ((const tree_root *)other)->name);
}

static int sort_roots(tree_files *files, netblt_failure *failure)
{
    if (files->root_count > 1)
        qsort(files->roots, files->root_count, sizeof *files->roots, compare_roots);
    for (size_t i = 1; i < files->root_count; i++)
        if (strcmp(files->roots[i - 1].name, files->roots[i].name) == 0)
            return netblt_fail(failure, NETBLT_FAILURE_LOCAL, "%s and %s would both be sent as %s: send one of them",
                               files->roots[i - 1].shown, files->roots[i].shown, files->roots[i].name);
    return 0;
}

tree_files *tree_files_open(const char *const *paths, size_t count, netblt_failure *failure)
{
    tree_files *files = calloc(1, sizeof *files);
    size_t opened = 0;
    if (files == NULL) {
        fail_for_memory(failure);
        return NULL;
    }
    while (opened < count && open_root(files, paths[opened], failure) == 0)
        opened++;
    if (opened == count && sort_roots(files, failure) == 0)
        return files;
    tree_files_close(files);
    return NULL;
}

/* ---- beneath the directory of netblt listen -----------------------------------------------------------------------
 */

/* What `name` means is opened as what it is. */
static int open_root_beneath(tree_files *files, int root, const char *name, netblt_failure *failure)
{
    bool everything = name[0] == '\0' || strcmp(name, ".") == 0;
    tree_root opened = {.name = everything ? strdup("") : copy_last_part(name), .shown = strdup(name)};
    int fd = everything ? fcntl(root, F_DUPFD_CLOEXEC, 3) : beneath_open(root, name, O_PATH);
    int error = errno;
    struct stat status = {0};
    if (fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode)) {
        close(fd);
        opened.file = strdup(name);
        fd = fcntl(root, F_DUPFD_CLOEXEC, 3);
        error = errno;
    } else if (fd >= 0 && !S_ISDIR(status.st_mode)) {
        close(fd);
        fd = -1;
        error = S_ISLNK(status.st_mode) ? ELOOP : EINVAL; /* a link at which the walk ends */
    }
    opened.directory = fd < 0 ? SIZE_MAX : add_directory(files, fd);
    if (opened.directory != SIZE_MAX)
        return add_root(files, &opened, failure);
    free(opened.name);
    free(opened.shown);
    free(opened.file);
    return fail_to_read(failure, name, error);
}

tree_files *tree_files_open_beneath(int root, const char *name, netblt_failure *failure)
{
    tree_files *files = calloc(1, sizeof *files);
    if (files == NULL) {
        fail_for_memory(failure);
        return NULL;
    }
    if (open_root_beneath(files, root, name, failure) == 0)
        return files;
    tree_files_close(files);
    return NULL;
}

void tree_files_close(tree_files *files)
{
    if (files == NULL)
        return;
    for (size_t i = 0; i < files->root_count; i++) {
        free(files->roots[i].name);
        free(files->roots[i].shown);
        free(files->roots[i].file);
    }
    for (size_t i = 0; i < files->directory_count; i++)
        close(files->directories[i]);
    free(files->roots);
    free(files->directories);
    free(files);
}

size_t tree_files_directories(const tree_files *files, const int **directories)
{
    *directories = files->directories;
    return files->directory_count;
}

/* ---- opening ------------------------------------------------------------------------------------------------------
 */

int tree_root_open(const tree_files *files, const tree_root *root, const char *path, int flags)
{
    int directory = files->directories[root->directory];
    if (root->file != NULL)
        return beneath_open(directory, root->file, flags);
    if (path[0] == '\0')
        return openat(directory, ".", flags | O_CLOEXEC);
    return beneath_open_without_links(directory, path, flags | O_NOFOLLOW);
}

/* The root of an entry; *rest is its path beneath the root. NULL: there is none. */
static const tree_root *find_root(const tree_files *files, const char *path, const char **rest)
{
    const char *slash = strchr(path, '/');
    size_t length = slash == NULL ? strlen(path) : (size_t)(slash - path);
    char name[NAME_MAX + 1];
    if (files->root_count == 1 && files->roots[0].name[0] == '\0') {
        *rest = path;
        return &files->roots[0];
    }
    if (length >= sizeof name)
        return NULL;
    memcpy(name, path, length);
    name[length] = '\0';
    *rest = slash == NULL ? "" : slash + 1;
    return bsearch(&(tree_root){.name = name}, files->roots, files->root_count, sizeof *files->roots, compare_roots);
}

int tree_files_read(const tree_files *files, const manifest_entry *entry)
{
    const char *rest = NULL;
    const tree_root *root = find_root(files, entry->path, &rest);
    struct stat status;
    int fd;
    if (root == NULL) {
        errno = ENOENT;
        return -1;
    }
    fd = tree_root_open(files, root, rest, O_RDONLY | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return -1;
    if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode))
        return fd;
    close(fd);
    errno = ENOENT; /* something else lies there by now */
    return -1;
}
