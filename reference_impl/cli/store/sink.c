/* SPDX-License-Identifier: BSD-2-Clause */
/* Where a receiver's bytes go, as the event loop sees it: see sink.h. */
#include "cli/store/sink.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/store/writer.h"

struct sink {
    const char *name; /* for messages */
    writer_target target;
    sink_writer *writer;   /* NULL before the first buffer: peers that send nothing cost no thread */
    int directory;         /* of a file, O_PATH; -1: no file */
    uint32_t buffer_bytes; /* known once the first buffer is provided */
    buffer_pool pool;
    digest *sum;
    netblt_failure failure;
    int error; /* an errno value with it */
    bool finishing;
};

/* ---- opening ---------------------------------------------------------------------------------------------------- */

static sink *sink_new(const char *name, const sink_how *how, netblt_failure *failure)
{
    sink *to = calloc(1, sizeof *to);
    digest *sum = digest_new();
    if (to == NULL || sum == NULL) {
        free(to);
        digest_free(sum);
        netblt_fail(failure, NETBLT_FAILURE_LOCAL, "cannot compute SHA-256: not enough memory, or OpenSSL forbids it");
        return NULL;
    }
    *to = (sink){
        .name = name, .target = {.stream_fd = -1, .stop_fd = -1, .wake_fd = how->wake_fd}, .directory = -1, .sum = sum};
    return to;
}

/* A device, a FIFO, a terminal under the target's name is written to, as any program would; only a plain file is
 * replaced. */
static bool is_special(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode);
}

/* stdout as a file of its own. -1 with errno when it is closed or was opened for reading only. */
static int copy_stdout(void)
{
    int flags = fcntl(STDOUT_FILENO, F_GETFL);
    if (flags >= 0 && (flags & O_ACCMODE) == O_RDONLY) {
        errno = EBADF;
        return -1;
    }
    return fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
}

static sink *open_stream(const char *name, int fd, const sink_how *how, netblt_failure *failure)
{
    sink *to;
    if (fd < 0) {
        netblt_fail(failure, NETBLT_FAILURE_LOCAL, "cannot write %s: %s", name, strerror(errno));
        return NULL;
    }
    to = sink_new(name, how, failure);
    if (to == NULL) {
        close(fd);
        return NULL;
    }
    to->target.stream_fd = fd;
    to->target.stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return to;
}

/* What to do about a file that cannot be created. */
static const char *advise(int error)
{
    return error == EACCES && geteuid() == 0
               ? "root's power over directories of other users is not used here: see --user"
               : "its directory must exist and be writable";
}

sink *sink_open_at(int dir_fd, const char *dir, const char *target, const sink_how *how, const char *name,
                   netblt_failure *failure)
{
    sink *to = sink_new(name, how, failure);
    if (to == NULL) {
        close(dir_fd);
        return NULL;
    }
    to->directory = dir_fd;
    to->target.at = place_begin(dir_fd, dir, target, how->replace, how->sync);
    if (to->target.at == NULL) {
        netblt_fail(failure, NETBLT_FAILURE_LOCAL, "cannot write %s: %s; %s", name, strerror(errno), advise(errno));
        sink_close(to);
        return NULL;
    }
    return to;
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

static sink *open_file(const char *path, const sink_how *how, netblt_failure *failure)
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
        to = sink_open_at(dir_fd, dir, slash == NULL ? target : slash + 1, how, path, failure);
    } else {
        netblt_fail(failure, NETBLT_FAILURE_LOCAL, "cannot write %s: %s; %s", path, strerror(errno), advise(errno));
    }
    free(dir);
    free(target);
    return to;
}

sink *sink_open(const char *path, const sink_how *how, netblt_failure *failure)
{
    if (strcmp(path, "-") == 0)
        return open_stream("stdout", copy_stdout(), how, failure);
    if (is_special(path))
        return open_stream(path, open(path, O_WRONLY | O_CLOEXEC), how, failure);
    return open_file(path, how, failure);
}

void sink_close(sink *to)
{
    if (to == NULL)
        return;
    if (to->writer == NULL && to->target.stream_fd >= 0)
        close(to->target.stream_fd);
    writer_free(to->writer);
    place_end(to->target.at);
    if (to->target.stop_fd >= 0)
        close(to->target.stop_fd);
    buffer_pool_clear(&to->pool);
    digest_free(to->sum);
    free(to);
}

int sink_directory(const sink *to)
{
    return to->directory;
}

bool sink_takes_any_order(const sink *to)
{
    return to->target.at != NULL;
}

/* ---- failures --------------------------------------------------------------------------------------------------- */

/* Keeps the first. */
static void fail(sink *to, int error)
{
    if (to->failure.kind != NETBLT_FAILURE_NONE)
        return;
    to->error = error;
    if (error == EBADMSG)
        netblt_fail(&to->failure, NETBLT_FAILURE_LOCAL,
                    "the data for %s are damaged: their SHA-256 is not that of the sender", to->name);
    else
        netblt_fail(&to->failure, NETBLT_FAILURE_LOCAL, "cannot write %s: %s", to->name, strerror(error));
}

const netblt_failure *sink_failure(const sink *to)
{
    return to->failure.kind == NETBLT_FAILURE_NONE ? NULL : &to->failure;
}

const char *sink_error_text(const sink *to)
{
    return to->error == EBADMSG ? "they are damaged: their SHA-256 is not that of the sender" : strerror(to->error);
}

/* ---- buffers ---------------------------------------------------------------------------------------------------- */

/* Buffers that the thread may be writing, beyond those that the transfer may have outstanding: while it writes one, the
 * next can be asked for. */
#define WRITING_BUFFERS 1

bool sink_has_room(const sink *to, size_t most)
{
    return to->failure.kind == NETBLT_FAILURE_NONE && to->pool.taken < most + WRITING_BUFFERS;
}

uint8_t *sink_provide(sink *to, uint32_t capacity, size_t most)
{
    uint8_t *memory;
    if (!sink_has_room(to, most))
        return NULL;
    to->buffer_bytes = capacity;
    memory = buffer_pool_take(&to->pool, capacity);
    if (memory == NULL && to->pool.taken == 0)
        fail(to, ENOMEM); /* with none out, none will ever come back */
    return memory;
}

void sink_adopt(sink *to, buffer_pool *early, uint32_t capacity)
{
    assert(to->pool.count == 0);
    to->pool = *early;
    to->buffer_bytes = capacity;
    *early = (buffer_pool){0};
}

static bool has_writer(sink *to)
{
    if (to->writer == NULL)
        to->writer = writer_start(&to->target, to->sum, to->buffer_bytes);
    if (to->writer == NULL)
        fail(to, errno);
    return to->writer != NULL;
}

void sink_deliver(sink *to, uint64_t index, uint8_t *data, uint32_t length)
{
    if (to->failure.kind == NETBLT_FAILURE_NONE && has_writer(to)) {
        if (writer_write(to->writer, index, data, length))
            return;
        fail(to, ENOMEM);
    }
    sink_discard(to, data);
}

void sink_discard(sink *to, uint8_t *data)
{
    buffer_pool_give_back(&to->pool, data);
}

void sink_collect(sink *to)
{
    uint8_t *data;
    writer_news news;
    if (to->writer == NULL)
        return;
    while ((data = writer_take_back(to->writer)) != NULL)
        sink_discard(to, data);
    news = writer_look(to->writer);
    if (news.state == WRITER_FAILED)
        fail(to, news.error);
}

/* ---- the end ---------------------------------------------------------------------------------------------------- */

void sink_expect_digest(sink *to, bool expected)
{
    digest_expect(to->sum, expected);
}

bool sink_commit(sink *to)
{
    if (to->failure.kind != NETBLT_FAILURE_NONE || !has_writer(to))
        return false;
    if (!to->finishing)
        writer_finish(to->writer);
    to->finishing = true;
    return writer_look(to->writer).state == WRITER_STORED;
}

void sink_abandon(sink *to)
{
    if (to->writer != NULL)
        writer_abandon(to->writer);
}

bool sink_is_at_rest(const sink *to)
{
    return to->writer == NULL || writer_look(to->writer).ended;
}

/* Only once the thread has ended: until then the place is its own. */
bool sink_is_stored(const sink *to)
{
    return to->target.at != NULL && sink_is_at_rest(to) && place_is_named(to->target.at);
}

void sink_digest(const sink *to, char text[DIGEST_TEXT_BYTES])
{
    digest_finish_text(to->sum, text);
}
