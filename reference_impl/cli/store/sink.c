/* SPDX-License-Identifier: BSD-2-Clause */
/* Where a receiver's bytes go, as the event loop sees it: see sink.h. */
#include "cli/store/sink.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/store/sink_thread.h"

/* ---- opening ---------------------------------------------------------------------------------------------------- */

static sink *fail_to_open(sink *to, netblt_failure *failure)
{
    netblt_fail(failure, NETBLT_FAILURE_LOCAL, "not enough memory");
    sink_close(to);
    return NULL;
}

/* Without a target. `with_digest`: its target needs `sum`. */
static sink *sink_new(const char *name, const sink_how *how, bool with_digest, netblt_failure *failure)
{
    sink *to = calloc(1, sizeof *to);
    if (to == NULL)
        return fail_to_open(NULL, failure);
    to->name = name;
    to->wake_fd = how->wake_fd;
    pthread_mutex_init(&to->mutex, NULL);
    pthread_cond_init(&to->changed, NULL);
    STAILQ_INIT(&to->queue);
    STAILQ_INIT(&to->back);
    to->sum = with_digest ? digest_new(failure) : NULL;
    if (to->sum != NULL || !with_digest)
        return to;
    sink_close(to);
    return NULL;
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

sink *sink_open_stream(int fd, const char *name, const sink_how *how, netblt_failure *failure)
{
    sink *to;
    if (fd < 0) {
        netblt_fail(failure, NETBLT_FAILURE_LOCAL, "cannot write %s: %s", name, strerror(errno));
        return NULL;
    }
    to = sink_new(name, how, true, failure);
    if (to == NULL) {
        close(fd);
        return NULL;
    }
    to->target = sink_target_stream(fd, to->sum);
    return to->target.self != NULL ? to : fail_to_open(to, failure);
}

sink *sink_open_tree(tree_store *store, const sink_how *how, const char *name, netblt_failure *failure)
{
    sink *to = sink_new(name, how, false, failure);
    if (to == NULL)
        return NULL;
    to->target = sink_target_tree(store);
    if (to->target.self == NULL)
        return fail_to_open(to, failure);
    tree_store_begin(store);
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
    sink *to = sink_new(name, how, true, failure);
    if (to == NULL) {
        close(dir_fd);
        return NULL;
    }
    errno = ENOMEM;
    to->target = sink_target_file(place_begin(dir_fd, dir, target, how->replace, how->sync), to->sum);
    if (to->target.self == NULL) {
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
    char *copy = target == NULL ? NULL : strdup(target);
    const char *dir = copy == NULL ? NULL : dirname(copy);
    sink *to = NULL;
    int dir_fd = dir == NULL ? -1 : open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (dir_fd >= 0) {
        place_remove_stale(dir_fd);
        to = sink_open_at(dir_fd, dir, basename(target), how, path, failure);
    } else if (target != NULL) {
        netblt_fail(failure, NETBLT_FAILURE_LOCAL, "cannot write %s: %s; %s", path, strerror(errno), advise(errno));
    }
    free(copy);
    free(target);
    return to;
}

sink *sink_open(const char *path, const sink_how *how, netblt_failure *failure)
{
    if (strcmp(path, "-") == 0)
        return sink_open_stream(copy_stdout(), "stdout", how, failure);
    if (is_special(path))
        return sink_open_stream(open(path, O_WRONLY | O_CLOEXEC), path, how, failure);
    return open_file(path, how, failure);
}

void sink_close(sink *to)
{
    if (to == NULL)
        return;
    sink_abandon(to);
    if (to->started)
        pthread_join(to->thread, NULL);
    if (to->target.self != NULL)
        to->target.kind->close(to->target.self);
    pthread_cond_destroy(&to->changed);
    pthread_mutex_destroy(&to->mutex);
    buffer_pool_clear(&to->pool);
    digest_free(to->sum);
    free(to);
}

int sink_directory(const sink *to)
{
    return to->target.kind->directory(to->target.self);
}

bool sink_takes_any_order(const sink *to)
{
    return to->target.kind->takes_any_order;
}

/* ---- failures --------------------------------------------------------------------------------------------------- */

/* What the target itself reports of its failure; empty: nothing. */
static const char *explanation(const sink *to)
{
    return to->target.kind->explain != NULL ? to->target.kind->explain(to->target.self) : "";
}

/* Keeps the first. */
static void fail(sink *to, int error)
{
    const char *why = explanation(to);
    if (to->failure.kind != NETBLT_FAILURE_NONE)
        return;
    to->error = error;
    if (error == EBADMSG)
        netblt_fail(&to->failure, NETBLT_FAILURE_LOCAL,
                    "the data for %s are damaged: their SHA-256 is not that of the sender", to->name);
    else if (why[0] != '\0')
        netblt_fail(&to->failure, NETBLT_FAILURE_LOCAL, "%s", why);
    else
        netblt_fail(&to->failure, NETBLT_FAILURE_LOCAL, "cannot write %s: %s", to->name, strerror(error));
}

const netblt_failure *sink_failure(const sink *to)
{
    return to->failure.kind == NETBLT_FAILURE_NONE ? NULL : &to->failure;
}

const char *sink_error_text(const sink *to)
{
    const char *why = explanation(to);
    if (why[0] != '\0')
        return why;
    return to->error == EBADMSG ? "they are damaged: their SHA-256 is not that of the sender" : strerror(to->error);
}

/* ---- buffers ---------------------------------------------------------------------------------------------------- */

/* Buffers that the thread may be writing, beyond those that the transfer may have outstanding: while it writes one, the
 * next can be requested. */
#define WRITING_BUFFERS 1

bool sink_has_room(const sink *to, size_t most)
{
    return to->failure.kind == NETBLT_FAILURE_NONE && to->pool.taken < most + WRITING_BUFFERS;
}

uint64_t sink_beside_bytes(uint32_t capacity)
{
    return (uint64_t)WRITING_BUFFERS * capacity;
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
    assert(SLIST_EMPTY(&to->pool.all));
    to->pool = *early;
    to->buffer_bytes = capacity;
    *early = (buffer_pool){0};
}

static bool has_thread(sink *to)
{
    int error = sink_start_thread(to);
    if (error != 0)
        fail(to, error);
    return error == 0;
}

void sink_deliver(sink *to, uint64_t index, uint8_t *data, uint32_t length)
{
    pool_buffer *buffer = buffer_pool_find(data);
    if (to->failure.kind != NETBLT_FAILURE_NONE || !has_thread(to)) {
        sink_discard(to, data);
        return;
    }
    buffer->index = index;
    buffer->length = length;
    pthread_mutex_lock(&to->mutex);
    STAILQ_INSERT_TAIL(&to->queue, buffer, next);
    pthread_cond_signal(&to->changed);
    pthread_mutex_unlock(&to->mutex);
}

void sink_discard(sink *to, uint8_t *data)
{
    buffer_pool_give_back(&to->pool, data);
}

void sink_collect(sink *to)
{
    int error = to->write_error;
    pthread_mutex_lock(&to->mutex);
    while (!STAILQ_EMPTY(&to->back)) {
        sink_discard(to, STAILQ_FIRST(&to->back)->bytes);
        STAILQ_REMOVE_HEAD(&to->back, next);
    }
    pthread_mutex_unlock(&to->mutex);
    if (error != 0 && error != ECANCELED) /* by sink_abandon(), after the transfer itself has failed */
        fail(to, error);
}

/* ---- the end ---------------------------------------------------------------------------------------------------- */

static void tell_thread(sink *to, atomic_bool *wish)
{
    pthread_mutex_lock(&to->mutex);
    *wish = true;
    pthread_cond_signal(&to->changed);
    pthread_mutex_unlock(&to->mutex);
}

void sink_expect_digest(sink *to, bool expected)
{
    if (to->sum != NULL)
        digest_expect(to->sum, expected);
}

bool sink_commit(sink *to)
{
    if (to->failure.kind != NETBLT_FAILURE_NONE || !has_thread(to))
        return false;
    tell_thread(to, &to->finishing);
    return to->stored;
}

void sink_abandon(sink *to)
{
    tell_thread(to, &to->abandoned);
    if (to->target.self != NULL)
        to->target.kind->abandon(to->target.self);
}

bool sink_is_at_rest(const sink *to)
{
    return !to->started || to->ended;
}

/* Only once the thread has ended: until then the place is its own. */
bool sink_is_stored(const sink *to)
{
    return sink_is_at_rest(to) && to->target.kind->is_stored(to->target.self);
}

void sink_digest(const sink *to, char text[DIGEST_TEXT_BYTES])
{
    text[0] = '\0';
    if (to->sum != NULL)
        digest_finish_text(to->sum, text);
}
