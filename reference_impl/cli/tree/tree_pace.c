/* SPDX-License-Identifier: BSD-2-Clause */
/* When a tree's files are synced and get their names: see tree_pace.h. */
#include "cli/tree/tree_pace.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "cli/tree/tree_finish.h"

/* What is lost when the host fails, at most, if the disk keeps up. */
#define SYNC_AFTER_BYTES (UINT64_C(64) << 20)
#define SYNC_AFTER_US INT64_C(1000000)

/* The first `count` of the unnamed get their names. */
static int name_files(tree_content *content, size_t count, netblt_failure *failure)
{
    size_t done = 0;
    int result = 0;
    while (done < count && result == 0)
        result = tree_finish_file(content, content->unnamed[done++], failure);
    content->unnamed_count -= done;
    if (content->unnamed_count > 0)
        memmove(content->unnamed, content->unnamed + done, content->unnamed_count * sizeof *content->unnamed);
    content->covered = 0;
    return result;
}

/* A file that lost its name meanwhile needs no sync. */
static void add_to_job(const tree_content *content, uint32_t entry, tree_sync_job *job)
{
    char name[PARTIAL_KEY_NAME_BYTES];
    tree_key key;
    int fd;
    tree_content_key(&content->all->entries[entry], &key);
    tree_partial_key_name(&key, name);
    fd = openat(content->dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0)
        job->fds[job->count++] = fd;
    else if (errno != ENOENT)
        job->whole = true;
}

static void begin_sync(tree_content *content)
{
    tree_sync_job job = {
        .dir = fcntl(content->dir, F_DUPFD_CLOEXEC, 3), .journal = content->journal, .whole = content->has_more_dirty};
    for (size_t i = 0; i < content->dirty_count && !job.whole; i++)
        add_to_job(content, content->dirty[i], &job);
    job.journal_length = tree_journal_length(content->journal);
    content->dirty_count = 0;
    content->has_more_dirty = false;
    content->dirty_bytes = 0;
    content->covered = content->unnamed_count;
    tree_sync_begin(content->sync, &job);
}

/* Names what a sync that has ended covers. */
static int take_sync(tree_content *content, netblt_failure *failure)
{
    int error = 0;
    if (!tree_sync_take_result(content->sync, &error))
        return 0;
    content->synced_at_us = tree_content_now_us();
    if (error != 0)
        return netblt_fail(failure, NETBLT_FAILURE_LOCAL, "cannot store files: %s", strerror(error));
    return name_files(content, content->covered, failure);
}

static int flush_journal(tree_content *content, netblt_failure *failure)
{
    int error = tree_journal_flush(content->journal);
    if (error == 0)
        return 0;
    return netblt_fail(failure, NETBLT_FAILURE_LOCAL, "cannot store files: the journal of what came: %s",
                       strerror(error));
}

int tree_pace_tend(tree_content *content, netblt_failure *failure)
{
    bool is_due;
    if (flush_journal(content, failure) != 0)
        return -1;
    if (tree_sync_is_busy(content->sync))
        return 0;
    if (take_sync(content, failure) != 0)
        return -1;
    is_due =
        content->dirty_bytes >= SYNC_AFTER_BYTES || ((content->dirty_bytes > 0 || content->unnamed_count > 0) &&
                                                     tree_content_now_us() - content->synced_at_us >= SYNC_AFTER_US);
    if (is_due)
        begin_sync(content);
    return 0;
}

int tree_pace_keep(tree_content *content, netblt_failure *failure)
{
    if (flush_journal(content, failure) != 0)
        return -1;
    tree_sync_wait(content->sync);
    if (take_sync(content, failure) != 0)
        return -1;
    begin_sync(content);
    tree_sync_wait(content->sync);
    return take_sync(content, failure);
}

/* All that has no name yet is on disk. A file costs one sync, and the journal, which is no longer needed, none. */
static int sync_unnamed(tree_content *content, netblt_failure *failure)
{
    if (content->unnamed_count > SYNC_FILES_MOST && syncfs(content->dir) != 0)
        return netblt_fail(failure, NETBLT_FAILURE_LOCAL, "cannot store files: %s", strerror(errno));
    for (size_t i = 0; i < content->unnamed_count && content->unnamed_count <= SYNC_FILES_MOST; i++)
        if (tree_finish_sync(content, content->unnamed[i], failure) != 0)
            return -1;
    return 0;
}

int tree_pace_finish(tree_content *content, bool sync, netblt_failure *failure)
{
    if (sync) {
        tree_sync_wait(content->sync);
        if (take_sync(content, failure) != 0 || sync_unnamed(content, failure) != 0)
            return -1;
    }
    return name_files(content, content->unnamed_count, failure);
}
