/* SPDX-License-Identifier: BSD-2-Clause */
/* A received file as the event loop sees it: buffers go to the thread that writes it (file_writer.c), and come back. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/file_writer.h"
#include "cli/place.h"
#include "cli/sink_internal.h"

struct file_sink {
    sink base;
    int wake_fd;
    file_place *at;
    file_writer *writer; /* NULL before the first buffer: peers that send nothing cost no thread */
    bool finishing;
};

static struct file_sink *file_of(sink *to)
{
    return (struct file_sink *)(void *)to;
}

/* ---- writing -------------------------------------------------------------------------------------------------- */

static bool has_writer(sink *to)
{
    struct file_sink *file = file_of(to);

    if (file->writer == NULL)
        file->writer = file_writer_start(file->at, to->sum, to->buffer_bytes, file->wake_fd);
    if (file->writer == NULL)
        sink_write_failed(to, errno);
    return file->writer != NULL;
}

static void file_deliver(sink *to, uint64_t index, uint8_t *data, uint32_t length)
{
    if (has_writer(to)) {
        if (file_writer_write(file_of(to)->writer, index, data, length))
            return;
        sink_write_failed(to, ENOMEM);
    }
    sink_discard(to, data);
}

static bool file_flush(sink *to)
{
    file_writer *writer = file_of(to)->writer;
    uint8_t *data;

    if (writer == NULL)
        return true;
    while ((data = file_writer_take_back(writer)) != NULL)
        sink_discard(to, data);
    if (file_writer_look(writer) == FILE_WRITER_FAILED)
        sink_write_failed(to, file_writer_error(writer));
    return file_writer_is_idle(writer);
}

/* ---- the end -------------------------------------------------------------------------------------------------- */

static bool file_commit(sink *to)
{
    struct file_sink *file = file_of(to);

    if (!has_writer(to))
        return false;
    if (!file->finishing)
        file_writer_finish(file->writer);
    file->finishing = true;
    return file_writer_look(file->writer) == FILE_WRITER_STORED;
}

static void file_abandon(sink *to)
{
    if (file_of(to)->writer != NULL)
        file_writer_abandon(file_of(to)->writer);
}

static bool file_is_at_rest(const sink *to)
{
    file_writer *writer = ((const struct file_sink *)(const void *)to)->writer;

    return writer == NULL || file_writer_has_ended(writer);
}

/* Only once the thread has ended: until then the place is its own. */
static bool file_is_stored(const sink *to)
{
    const struct file_sink *file = (const struct file_sink *)(const void *)to;

    return file_is_at_rest(to) && place_is_named(file->at);
}

static void file_close(sink *to)
{
    struct file_sink *file = file_of(to);

    file_writer_free(file->writer);
    place_end(file->at);
}

static const sink_ops file_ops = {
    .deliver = file_deliver,
    .flush = file_flush,
    .commit = file_commit,
    .abandon = file_abandon,
    .is_at_rest = file_is_at_rest,
    .is_stored = file_is_stored,
    .close = file_close,
};

/* ---- opening -------------------------------------------------------------------------------------------------- */

/* What to do about a file that cannot be created. */
static const char *advise(int error)
{
    return error == EACCES && geteuid() == 0
               ? "root's power over directories of other users is not used here: see --user"
               : "its directory must exist and be writable";
}

/* Takes over dir_fd. */
static sink *open_in(int dir_fd, const char *dir, const char *target, const sink_how *how, const char *name,
                     netblt_failure *failure)
{
    sink *to = sink_new(sizeof(struct file_sink), &file_ops, name, failure);

    if (to == NULL) {
        close(dir_fd);
        return NULL;
    }
    to->any_order = true;
    file_of(to)->wake_fd = how->wake_fd;
    to->directory = dir_fd;
    file_of(to)->at = place_begin(dir_fd, dir, target, how->replace, how->sync);
    if (file_of(to)->at == NULL) {
        netblt_fail(failure, NETBLT_FAILURE_LOCAL, "cannot write %s: %s; %s", name, strerror(errno), advise(errno));
        sink_close(to);
        return NULL;
    }
    return to;
}

sink *file_sink_open_at(int dir_fd, const char *target, const sink_how *how, const char *name, netblt_failure *failure)
{
    return open_in(dir_fd, NULL, target, how, name, failure);
}

/* The place that the bytes will go to, or NULL with *failure. A link is followed, so that it stays a link. */
static char *find_target(const char *path, netblt_failure *failure)
{
    struct stat status;
    char *real = realpath(path, NULL);

    if (path[0] == '\0' || path[strlen(path) - 1] == '/' ||
        (real != NULL && stat(real, &status) == 0 && S_ISDIR(status.st_mode)))
        netblt_fail(failure, NETBLT_FAILURE_LOCAL, "%s is a directory: name the file to write", path);
    else if (real == NULL && lstat(path, &status) == 0 && S_ISLNK(status.st_mode))
        netblt_fail(failure, NETBLT_FAILURE_LOCAL, "cannot write %s: it is a link that leads nowhere", path);
    else if (real != NULL && access(real, W_OK) != 0)
        netblt_fail(failure, NETBLT_FAILURE_LOCAL, "cannot write %s: %s", path, strerror(errno));
    else
        return real != NULL ? real : strdup(path);
    free(real);
    return NULL;
}

sink *file_sink_open(const char *path, const sink_how *how, netblt_failure *failure)
{
    char *target = find_target(path, failure);
    char *slash = target == NULL ? NULL : strrchr(target, '/');
    char *dir;
    sink *to = NULL;
    int dir_fd;

    if (target == NULL)
        return NULL;
    dir = slash == NULL ? strdup(".") : slash == target ? strdup("/") : strndup(target, (size_t)(slash - target));
    dir_fd = dir == NULL ? -1 : open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (dir_fd >= 0) {
        place_remove_stale(dir_fd);
        to = open_in(dir_fd, dir, slash == NULL ? target : slash + 1, how, path, failure);
    } else {
        netblt_fail(failure, NETBLT_FAILURE_LOCAL, "cannot write %s: %s; %s", path, strerror(errno), advise(errno));
    }
    free(dir);
    free(target);
    return to;
}
