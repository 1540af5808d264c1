/* SPDX-License-Identifier: BSD-2-Clause */
/* Work that can take seconds, done by threads beside the event loop: see jobs.h. */
#include "cli/listen/jobs.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

struct job {
    job_plan plan;
    TAILQ_ENTRY(job) place; /* in one of the lists */
    pthread_t thread;
    int wake_fd;
    bool begun;  /* is in jobs.begun, not in jobs.waiting */
    bool ran;    /* there was a thread */
    bool joined; /* ... and it has ended */
    bool dropped;
    atomic_bool stop;
    atomic_bool ended;
};

void jobs_init(jobs *all, int wake_fd)
{
    *all = (jobs){.wake_fd = wake_fd};
    TAILQ_INIT(&all->waiting);
    TAILQ_INIT(&all->begun);
}

static void free_job(jobs *all, job *one)
{
    TAILQ_REMOVE(one->begun ? &all->begun : &all->waiting, one, place);
    one->plan.free(one->plan.context);
    free(one);
}

/* After it has ended, so this does not block. */
static void join(jobs *all, job *one)
{
    if (one->joined)
        return;
    if (one->ran)
        pthread_join(one->thread, NULL);
    one->joined = true;
    all->running--;
}

void jobs_clear(jobs *all)
{
    job *one;
    job *next;
    TAILQ_FOREACH(one, &all->begun, place)
        one->stop = true;
    for (one = TAILQ_FIRST(&all->begun); one != NULL; one = next) {
        next = TAILQ_NEXT(one, place);
        join(all, one);
        free_job(all, one);
    }
    for (one = TAILQ_FIRST(&all->waiting); one != NULL; one = next) {
        next = TAILQ_NEXT(one, place);
        free_job(all, one);
    }
}

/* ---- threads ---------------------------------------------------------------------------------------------------- */

static void *run_job(void *context)
{
    const uint64_t news = 1;
    job *one = context;
    one->plan.run(one->plan.context, &one->stop);
    one->ended = true;
    if (write(one->wake_fd, &news, sizeof news) < 0)
        return NULL; /* it is set already */
    return NULL;
}

static void begin(jobs *all, job *one)
{
    TAILQ_REMOVE(&all->waiting, one, place);
    TAILQ_INSERT_TAIL(&all->begun, one, place);
    all->running++;
    one->begun = true;
    one->ran = pthread_create(&one->thread, NULL, run_job, one) == 0;
    if (!one->ran)
        one->ended = true;
}

static void begin_waiting(jobs *all)
{
    while (all->running < JOBS_AT_ONCE && !TAILQ_EMPTY(&all->waiting))
        begin(all, TAILQ_FIRST(&all->waiting));
}

/* ---- the event loop ---------------------------------------------------------------------------------------------- */

job *jobs_add(jobs *all, const job_plan *plan)
{
    job *one = calloc(1, sizeof *one);
    if (one == NULL)
        return NULL;
    one->plan = *plan;
    one->wake_fd = all->wake_fd;
    TAILQ_INSERT_TAIL(&all->waiting, one, place);
    begin_waiting(all);
    return one;
}

void jobs_tend(jobs *all)
{
    job *next;
    for (job *one = TAILQ_FIRST(&all->begun); one != NULL; one = next) {
        next = TAILQ_NEXT(one, place);
        if (!one->ended)
            continue;
        join(all, one);
        if (one->dropped)
            free_job(all, one);
    }
    begin_waiting(all);
}

bool job_has_ended(const job *one, bool *ran)
{
    *ran = one->ran;
    return one->ended;
}

void job_drop(jobs *all, job *one)
{
    if (one == NULL)
        return;
    one->stop = true;
    one->dropped = true;
    if (one->begun && !one->joined) /* jobs_tend() frees it when its thread has ended */
        return;
    free_job(all, one);
    begin_waiting(all);
}
