/* SPDX-License-Identifier: BSD-2-Clause */
/* Work that can take seconds, such as walking a directory, done by threads beside the event loop. */
#ifndef NETBLT_CLI_JOBS_H
#define NETBLT_CLI_JOBS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/queue.h>

/* A job runs in a thread of its own. So many run at the same time; the others wait for their turn. */
#define JOBS_AT_ONCE 4

typedef struct job job;

/* What is to be done. */
typedef struct job_plan {
    /* In the thread. Returns early when *stop becomes true: the result is no longer needed. */
    void (*run)(void *context, const atomic_bool *stop);
    /* In the event loop, after the end of `run`, or when the job is dropped before it began. */
    void (*free)(void *context);
    void *context; /* the job's own, between job_add() and `free` */
} job_plan;

typedef TAILQ_HEAD(job_list, job) job_list;

typedef struct jobs {
    int wake_fd; /* an eventfd that gets 8 bytes whenever a job has ended */
    unsigned running;
    job_list waiting;
    job_list begun;
} jobs;

void jobs_init(jobs *all, int wake_fd);
/* Drops all jobs and waits for those that run. */
void jobs_clear(jobs *all);
/* NULL when memory is short; then the context is the caller's again. */
job *jobs_add(jobs *all, const job_plan *plan);
/* Starts jobs that wait, and frees those that were dropped and have ended. In each round. */
void jobs_tend(jobs *all);
/* `run` has returned, or could not be called (no thread): *ran is false then. */
bool job_has_ended(const job *one, bool *ran);
/* The result is not wanted any more, or has been read: never blocks. NULL is allowed. */
void job_drop(jobs *all, job *one);

#endif
