/* SPDX-License-Identifier: BSD-2-Clause */
/* Syncs incomplete files in a thread of its own: see tree_sync.h. */
#include "cli/tree/tree_sync.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

struct tree_sync {
    pthread_t thread;
    bool started;
    pthread_mutex_t mutex; /* of all below */
    pthread_cond_t changed;
    tree_sync_job job;
    bool busy;
    bool has_result;
    int result;
    bool ending;
};

tree_sync *tree_sync_new(void)
{
    tree_sync *sync = calloc(1, sizeof *sync);
    if (sync == NULL)
        return NULL;
    pthread_mutex_init(&sync->mutex, NULL);
    pthread_cond_init(&sync->changed, NULL);
    return sync;
}

void tree_sync_free(tree_sync *sync)
{
    if (sync == NULL)
        return;
    pthread_mutex_lock(&sync->mutex);
    sync->ending = true;
    pthread_cond_broadcast(&sync->changed);
    pthread_mutex_unlock(&sync->mutex);
    if (sync->started)
        pthread_join(sync->thread, NULL);
    pthread_cond_destroy(&sync->changed);
    pthread_mutex_destroy(&sync->mutex);
    free(sync);
}

/* ---- the work -------------------------------------------------------------------------------------------------- */

/* 0, or an errno value. EINVAL: the file system has nothing to sync. */
static int sync_files(const tree_sync_job *job)
{
    int error = 0;
    if (job->whole)
        return syncfs(job->dir) == 0 ? 0 : errno;
    for (size_t i = 0; i < job->count; i++)
        if (fdatasync(job->fds[i]) != 0 && errno != EINVAL && error == 0)
            error = errno;
    if (fsync(job->dir) != 0 && errno != EINVAL && error == 0)
        error = errno;
    return error;
}

static int perform(const tree_sync_job *job)
{
    int error = sync_files(job);
    for (size_t i = 0; i < job->count; i++)
        close(job->fds[i]);
    close(job->dir);
    return error == 0 ? tree_journal_mark(job->journal, job->journal_length) : error;
}

static void *run(void *context)
{
    tree_sync *sync = context;
    pthread_mutex_lock(&sync->mutex);
    for (;;) {
        int result;
        while (!sync->busy && !sync->ending)
            pthread_cond_wait(&sync->changed, &sync->mutex);
        if (!sync->busy)
            break;
        pthread_mutex_unlock(&sync->mutex);
        result = perform(&sync->job);
        pthread_mutex_lock(&sync->mutex);
        sync->busy = false;
        sync->has_result = true;
        sync->result = result;
        pthread_cond_broadcast(&sync->changed);
    }
    pthread_mutex_unlock(&sync->mutex);
    return NULL;
}

/* ---- for the one that gives the jobs --------------------------------------------------------------------------- */

bool tree_sync_is_busy(tree_sync *sync)
{
    bool busy;
    pthread_mutex_lock(&sync->mutex);
    busy = sync->busy;
    pthread_mutex_unlock(&sync->mutex);
    return busy;
}

/* Without a thread the job is done at once. */
void tree_sync_begin(tree_sync *sync, const tree_sync_job *job)
{
    if (!sync->started)
        sync->started = pthread_create(&sync->thread, NULL, run, sync) == 0;
    pthread_mutex_lock(&sync->mutex);
    sync->job = *job;
    sync->busy = sync->started;
    sync->has_result = !sync->started;
    if (!sync->started)
        sync->result = perform(job);
    pthread_cond_broadcast(&sync->changed);
    pthread_mutex_unlock(&sync->mutex);
}

bool tree_sync_take_result(tree_sync *sync, int *error)
{
    bool has_result;
    pthread_mutex_lock(&sync->mutex);
    has_result = sync->has_result;
    *error = sync->result;
    sync->has_result = false;
    pthread_mutex_unlock(&sync->mutex);
    return has_result;
}

void tree_sync_wait(tree_sync *sync)
{
    pthread_mutex_lock(&sync->mutex);
    while (sync->busy)
        pthread_cond_wait(&sync->changed, &sync->mutex);
    pthread_mutex_unlock(&sync->mutex);
}
