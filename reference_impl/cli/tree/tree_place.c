/* SPDX-License-Identifier: BSD-2-Clause */
/* Final names of a tree transfer's entries: see tree_place.h. */
#include "cli/tree/tree_place.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/tree/tree_partial.h"

#define OWNER_BITS 0700

void tree_place_init(tree_place *place, int root, const char *target, bool replace, bool drop_special_bits)
{
    *place = (tree_place){.root = root,
                          .target = target,
                          .replace = replace,
                          .mode_mask = drop_special_bits ? 0777 : 07777,
                          .parent = -1};
}

static void forget_parent(tree_place *place)
{
    if (place->parent >= 0)
        close(place->parent);
    place->parent = -1;
}

void tree_place_use(tree_place *place, const manifest *all)
{
    uint32_t tops = 0;
    forget_parent(place);
    for (uint32_t i = 0; i < all->count; i++)
        tops += strchr(all->entries[i].path, '/') == NULL;
    place->all = all;
    place->has_one_top = tops == 1;
}

void tree_place_clear(tree_place *place)
{
    forget_parent(place);
}

/* ---- paths ----------------------------------------------------------------------------------------------------- */

bool tree_place_path(const tree_place *place, const manifest_entry *entry, char path[BENEATH_PATH_BYTES])
{
    const char *rest = entry->path;
    int length;
    if (place->target != NULL && place->has_one_top) /* the top's own name gives way */
        rest += strcspn(rest, "/");
    length = snprintf(path, BENEATH_PATH_BYTES, "%s%s%s", place->target == NULL ? "" : place->target,
                      place->target == NULL || place->has_one_top ? "" : "/", rest);
    if (length < BENEATH_PATH_BYTES)
        return true;
    path[0] = '\0';
    return false;
}

static int fail(const tree_place *place, const manifest_entry *entry, const char *why, netblt_failure *failure)
{
    char path[BENEATH_PATH_BYTES];
    bool fits = tree_place_path(place, entry, path);
    return netblt_fail(failure, NETBLT_FAILURE_LOCAL, "cannot store %s: %s", fits ? path : entry->path, why);
}

static const char *explain(int error)
{
    switch (error) {
    case ELOOP:
        return "a link is on the way, which is not followed";
    case ENOTDIR:
        return "a file is where a directory of it should be";
    case EEXIST:
        return "it exists and is not to be replaced (see --force)";
    case EISDIR:
        return "a directory of that name exists";
    case EXDEV:
        return "another file system is mounted there";
    default:
        return strerror(error);
    }
}

/* -1 with *failure of errno. */
static int fail_of_errno(const tree_place *place, const manifest_entry *entry, netblt_failure *failure)
{
    return fail(place, entry, explain(errno), failure);
}

/* ---- modes ----------------------------------------------------------------------------------------------------- */

/* Of what `name` means without following a link. 0, or -1 with errno. */
static int change_mode(int parent, const char *name, mode_t mode)
{
    char own[40];
    int result;
    int fd = openat(parent, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return -1;
    snprintf(own, sizeof own, "/proc/self/fd/%d", fd);
    result = fchmodat(AT_FDCWD, own, mode, 0);
    close(fd);
    if (result == 0 || errno != ENOENT) /* there is no /proc */
        return result;
    fd = openat(parent, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    result = fd < 0 ? -1 : fchmod(fd, mode);
    if (fd >= 0)
        close(fd);
    return result;
}

/* ---- directories above an entry -------------------------------------------------------------------------------- */

/* What to do about the parts of a way. */
enum walk_kind {
    WALK_MAKE = 1,   /* make those that are missing */
    WALK_UNLOCK = 2, /* give our own back their owner's permissions, which they lose again at the end */
};

/* Entries of the manifest get their mode at the end; until then their contents are the owner's business. */
static mode_t first_mode(const tree_place *place, bool is_first_part)
{
    return is_first_part && place->target != NULL && !place->has_one_top ? 0777 : OWNER_BITS;
}

static bool unlock(int dir, const char *part)
{
    struct stat status;
    return fstatat(dir, part, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(status.st_mode) &&
           status.st_uid == geteuid() && (status.st_mode & OWNER_BITS) != OWNER_BITS &&
           change_mode(dir, part, (status.st_mode & 07777) | OWNER_BITS) == 0;
}

static int open_part(const tree_place *place, int dir, const char *part, bool is_first_part, unsigned kind)
{
    const int flags = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    int fd;
    if ((kind & WALK_UNLOCK) != 0 && (!is_first_part || first_mode(place, true) == OWNER_BITS))
        (void)unlock(dir, part);
    fd = openat(dir, part, flags);
    if (fd >= 0 || errno != ENOENT || (kind & WALK_MAKE) == 0)
        return fd;
    if (mkdirat(dir, part, first_mode(place, is_first_part)) != 0 && errno != EEXIST)
        return -1;
    return openat(dir, part, flags);
}

/* Part by part from the root; no link is followed. A descriptor, or -1 with errno. */
static int walk(const tree_place *place, const char *path, unsigned kind)
{
    char copy[BENEATH_PATH_BYTES];
    char *rest = copy;
    int dir = fcntl(place->root, F_DUPFD_CLOEXEC, 3);
    snprintf(copy, sizeof copy, "%s", path);
    for (bool is_first_part = true; dir >= 0 && rest != NULL; is_first_part = false) {
        const char *part = strsep(&rest, "/");
        int next = open_part(place, dir, part, is_first_part, kind);
        int error = errno;
        close(dir);
        errno = error;
        dir = next;
    }
    return dir;
}

/* The directory of `path`, whose last part is then *base. The place's own descriptor, or -1 with errno. */
static int open_parent(tree_place *place, const char *path, unsigned kind, const char **base)
{
    char parent[BENEATH_PATH_BYTES];
    const char *slash = strrchr(path, '/');
    *base = slash == NULL ? path : slash + 1;
    if (slash == NULL)
        return place->root;
    snprintf(parent, sizeof parent, "%.*s", (int)(slash - path), path);
    if (place->parent >= 0 && kind == 0 && strcmp(place->parent_path, parent) == 0)
        return place->parent;
    forget_parent(place);
    if (kind == 0)
        place->parent = beneath_open_without_links(place->root, parent, O_PATH | O_DIRECTORY);
    else
        place->parent = walk(place, parent, kind);
    if (place->parent >= 0)
        memcpy(place->parent_path, parent, strlen(parent) + 1);
    return place->parent;
}

/* Does something to `base` in the directory `parent`. 0, or -1 with errno. */
typedef int place_step(tree_place *place, const manifest_entry *entry, int parent, const char *base, void *more);

/* Does it, if need be after the directories above have been made or got their owner's permissions. `kind`: WALK_MAKE if
 * they may be made. 0, or -1 with errno. */
static int with_parent(tree_place *place, const manifest_entry *entry, unsigned kind, place_step *step, void *more)
{
    char path[BENEATH_PATH_BYTES];
    const char *base;
    int parent;
    if (!tree_place_path(place, entry, path)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    parent = open_parent(place, path, 0, &base);
    if (parent >= 0 && step(place, entry, parent, base, more) == 0)
        return 0;
    if (errno == EACCES)
        kind |= WALK_UNLOCK;
    else if (errno != ENOENT || (kind & WALK_MAKE) == 0 || parent >= 0)
        return -1;
    parent = open_parent(place, path, kind, &base);
    return parent < 0 ? -1 : step(place, entry, parent, base, more);
}

/* ---- looking --------------------------------------------------------------------------------------------------- */

/* Some file systems keep times less exactly: to 100 ns, or to seconds. */
static bool is_same_time(const struct timespec *there, const manifest_entry *entry)
{
    uint32_t ns = (uint32_t)there->tv_nsec;
    return there->tv_sec == entry->mtime_s && (ns == entry->mtime_ns || ns == entry->mtime_ns / 100 * 100 || ns == 0);
}

static bool is_same_link(int parent, const char *base, const manifest_entry *entry)
{
    char target[BENEATH_PATH_BYTES];
    size_t length = strlen(entry->target);
    return readlinkat(parent, base, target, sizeof target) == (ssize_t)length &&
           memcmp(target, entry->target, length) == 0;
}

static enum place_found judge(const struct stat *there, int parent, const char *base, const manifest_entry *entry)
{
    if (entry->kind == ENTRY_DIRECTORY)
        return PLACE_SAME;
    if (entry->kind == ENTRY_LINK)
        return S_ISLNK(there->st_mode) && is_same_link(parent, base, entry) ? PLACE_SAME : PLACE_OTHER;
    if (!S_ISREG(there->st_mode) || (uint64_t)there->st_size != entry->size)
        return PLACE_OTHER;
    return is_same_time(&there->st_mtim, entry) ? PLACE_SAME : PLACE_SAME_SIZE;
}

/* What tree_place_look() learns. */
typedef struct look {
    enum place_found found;
    const char *conflict; /* NULL: none */
} look;

static int look_step(tree_place *place, const manifest_entry *entry, int parent, const char *base, void *more)
{
    look *to = more;
    struct stat there;
    bool wants_directory = entry->kind == ENTRY_DIRECTORY;
    (void)place;
    if (fstatat(parent, base, &there, AT_SYMLINK_NOFOLLOW) != 0)
        return -1;
    if (S_ISDIR(there.st_mode) != wants_directory)
        to->conflict = wants_directory ? "something that is no directory has its name" : explain(EISDIR);
    else if (!S_ISDIR(there.st_mode) && !S_ISREG(there.st_mode) && !S_ISLNK(there.st_mode))
        to->conflict = "something that is no file has its name";
    else
        to->found = judge(&there, parent, base, entry);
    return 0;
}

int tree_place_look(tree_place *place, const manifest_entry *entry, enum place_found *found, netblt_failure *failure)
{
    look seen = {.found = PLACE_FREE};
    if (with_parent(place, entry, 0, look_step, &seen) != 0 && errno != ENOENT)
        return fail_of_errno(place, entry, failure);
    *found = seen.found;
    return seen.conflict == NULL ? 0 : fail(place, entry, seen.conflict, failure);
}

int tree_place_may_replace(const tree_place *place, const manifest_entry *entry, netblt_failure *failure)
{
    return place->replace ? 0 : fail(place, entry, explain(EEXIST), failure);
}

/* ---- giving names ---------------------------------------------------------------------------------------------- */

/* Where the bytes come from. */
typedef struct origin {
    int dir;
    const char *name;
} origin;

/* File systems that cannot rename without replacing can often link, which replaces nothing. */
static int rename_to(const tree_place *place, const origin *from, int parent, const char *base)
{
    if (place->replace)
        return renameat(from->dir, from->name, parent, base);
    if (renameat2(from->dir, from->name, parent, base, RENAME_NOREPLACE) == 0)
        return 0;
    if (errno != EINVAL)
        return -1;
    if (linkat(from->dir, from->name, parent, base, 0) != 0)
        return -1;
    return unlinkat(from->dir, from->name, 0);
}

static int set_time(int parent, const char *base, const manifest_entry *entry)
{
    const struct timespec times[] = {{.tv_nsec = UTIME_OMIT}, {entry->mtime_s, entry->mtime_ns}};
    return utimensat(parent, base, times, AT_SYMLINK_NOFOLLOW);
}

static int rename_step(tree_place *place, const manifest_entry *entry, int parent, const char *base, void *more)
{
    (void)entry;
    return rename_to(place, more, parent, base);
}

int tree_place_prepare(const tree_place *place, const manifest_entry *entry, int from, const char *name)
{
    return fchmodat(from, name, entry->mode & place->mode_mask, 0) == 0 ? set_time(from, name, entry) : -1;
}

int tree_place_file(tree_place *place, const manifest_entry *entry, int from, const char *name, netblt_failure *failure)
{
    origin where = {from, name};
    if (tree_place_prepare(place, entry, from, name) != 0 ||
        with_parent(place, entry, WALK_MAKE, rename_step, &where) != 0)
        return fail_of_errno(place, entry, failure);
    return 0;
}

int tree_place_link(tree_place *place, const manifest_entry *entry, int from, netblt_failure *failure)
{
    origin where = {from, PARTIAL_NEW};
    unlinkat(from, PARTIAL_NEW, 0);
    if (symlinkat(entry->target, from, PARTIAL_NEW) != 0 || set_time(from, PARTIAL_NEW, entry) != 0 ||
        with_parent(place, entry, WALK_MAKE, rename_step, &where) != 0)
        return fail_of_errno(place, entry, failure);
    return 0;
}

static int directory_step(tree_place *place, const manifest_entry *entry, int parent, const char *base, void *more)
{
    struct stat there;
    (void)place;
    (void)entry;
    (void)more;
    if (mkdirat(parent, base, OWNER_BITS) == 0)
        return 0;
    if (errno != EEXIST || fstatat(parent, base, &there, AT_SYMLINK_NOFOLLOW) != 0)
        return -1;
    errno = ENOTDIR;
    return S_ISDIR(there.st_mode) ? 0 : -1;
}

int tree_place_directory(tree_place *place, const manifest_entry *entry, netblt_failure *failure)
{
    return with_parent(place, entry, WALK_MAKE, directory_step, NULL) == 0 ? 0 : fail_of_errno(place, entry, failure);
}

static int settle_step(tree_place *place, const manifest_entry *entry, int parent, const char *base, void *more)
{
    struct stat there;
    mode_t wanted;
    (void)more;
    if (fstatat(parent, base, &there, AT_SYMLINK_NOFOLLOW) != 0)
        return -1;
    wanted = (entry->mode & place->mode_mask) | (there.st_mode & 07777 & ~(mode_t)place->mode_mask);
    if (!is_same_time(&there.st_mtim, entry) && set_time(parent, base, entry) != 0)
        return -1;
    if (S_ISLNK(there.st_mode) || (there.st_mode & 07777) == wanted)
        return 0;
    return change_mode(parent, base, wanted);
}

int tree_place_settle(tree_place *place, const manifest_entry *entry, netblt_failure *failure)
{
    return with_parent(place, entry, 0, settle_step, NULL) == 0 ? 0 : fail_of_errno(place, entry, failure);
}

static int read_step(tree_place *place, const manifest_entry *entry, int parent, const char *base, void *more)
{
    int *fd = more;
    (void)place;
    (void)entry;
    *fd = openat(parent, base, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    return *fd < 0 ? -1 : 0;
}

int tree_place_read(tree_place *place, const manifest_entry *entry)
{
    int fd = -1;
    return with_parent(place, entry, 0, read_step, &fd) == 0 ? fd : -1;
}
