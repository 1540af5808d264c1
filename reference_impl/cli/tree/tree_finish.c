/* SPDX-License-Identifier: BSD-2-Clause */
/* The end of a tree transfer: see tree_finish.h. */
#include "cli/tree/tree_finish.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

int tree_finish_file(tree_content *content, uint32_t entry, netblt_failure *failure)
{
    const manifest_entry *of = &content->all->entries[entry];
    char name[PARTIAL_KEY_NAME_BYTES];
    tree_key key;
    tree_content_key(of, &key);
    tree_partial_key_name(&key, name);
    if (tree_place_file(content->place, of, content->dir, name, failure) != 0)
        return -1;
    content->entries[entry].stage = CONTENT_STORED;
    return 0;
}

/* Its mode may keep us from opening it later. */
int tree_finish_sync(tree_content *content, uint32_t entry, netblt_failure *failure)
{
    const manifest_entry *of = &content->all->entries[entry];
    char name[PARTIAL_KEY_NAME_BYTES];
    tree_key key;
    int fd;
    int error = 0;
    tree_content_key(of, &key);
    tree_partial_key_name(&key, name);
    fd = openat(content->dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || tree_place_prepare(content->place, of, content->dir, name) != 0 ||
        (fsync(fd) != 0 && errno != EINVAL))
        error = errno;
    if (fd >= 0)
        close(fd);
    return error == 0 ? 0 : tree_content_fail(content, entry, strerror(error), failure);
}

static int finish_empty_file(tree_content *content, uint32_t entry, netblt_failure *failure)
{
    const manifest_entry *of = &content->all->entries[entry];
    int fd;
    unlinkat(content->dir, PARTIAL_NEW, 0);
    fd = openat(content->dir, PARTIAL_NEW, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return tree_content_fail(content, entry, strerror(errno), failure);
    close(fd);
    return tree_place_file(content->place, of, content->dir, PARTIAL_NEW, failure);
}

/* What needs no content is made now, unless it is there. */
static int make(tree_content *content, uint32_t entry, netblt_failure *failure)
{
    const manifest_entry *of = &content->all->entries[entry];
    enum place_found found;
    if (of->kind == ENTRY_DIRECTORY)
        return tree_place_directory(content->place, of, failure);
    if (tree_place_look(content->place, of, &found, failure) != 0)
        return -1;
    if (found == PLACE_SAME)
        return tree_place_settle(content->place, of, failure);
    if (found != PLACE_FREE && tree_place_may_replace(content->place, of, failure) != 0)
        return -1;
    return of->kind == ENTRY_LINK ? tree_place_link(content->place, of, content->dir, failure)
                                  : finish_empty_file(content, entry, failure);
}

int tree_finish_all(tree_content *content, netblt_failure *failure)
{
    for (uint32_t i = 0; i < content->all->count; i++) {
        const manifest_entry *of = &content->all->entries[i];
        int result = 0;
        if (of->kind != ENTRY_FILE || of->size == 0)
            result = make(content, i, failure);
        else if (content->entries[i].was_there)
            result = tree_place_settle(content->place, of, failure);
        if (result != 0)
            return -1;
    }
    for (uint32_t i = content->all->count; i-- > 0;) /* what a directory contains comes before it */
        if (content->all->entries[i].kind == ENTRY_DIRECTORY &&
            tree_place_settle(content->place, &content->all->entries[i], failure) != 0)
            return -1;
    return 0;
}
