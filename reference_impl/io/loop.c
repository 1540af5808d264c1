/* SPDX-License-Identifier: BSD-2-Clause */
/* The event loop: waits for sockets and timers. */
#include "io/loop.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "io/clock.h"

/* Sockets and signals; a server's sources of data make them more. */
#define WATCHES_FIRST 16u
#define TIMER_SLOT UINT32_MAX
#define EVENTS_MAX 64 /* that one wait returns; the others come with the next */

struct watch {
    int fd; /* -1 = free */
    netblt_watch_fn *call;
    void *context;
};

struct netblt_loop {
    int epoll_fd;
    int timer_fd;
    netblt_time armed_for; /* what timer_fd is set to; NEVER = not set */
    struct watch *watches; /* their places are what the kernel knows of them */
    uint32_t count;
};

netblt_loop *netblt_loop_new(void)
{
    netblt_loop *loop = calloc(1, sizeof *loop);
    struct epoll_event event = {.events = EPOLLIN, .data.u32 = TIMER_SLOT};
    if (loop == NULL)
        return NULL;
    loop->armed_for = NETBLT_TIME_NEVER;
    loop->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    loop->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    if (loop->epoll_fd < 0 || loop->timer_fd < 0 ||
        epoll_ctl(loop->epoll_fd, EPOLL_CTL_ADD, loop->timer_fd, &event) != 0) {
        int error = errno;
        netblt_loop_free(loop);
        errno = error;
        return NULL;
    }
    return loop;
}

void netblt_loop_free(netblt_loop *loop)
{
    if (loop == NULL)
        return;
    if (loop->timer_fd >= 0)
        close(loop->timer_fd);
    if (loop->epoll_fd >= 0)
        close(loop->epoll_fd);
    free(loop->watches);
    free(loop);
}

static struct watch *find_watch(netblt_loop *loop, int fd)
{
    for (uint32_t i = 0; i < loop->count; i++)
        if (loop->watches[i].fd == fd)
            return &loop->watches[i];
    return NULL;
}

/* NULL when memory is short. */
static struct watch *find_free_watch(netblt_loop *loop)
{
    struct watch *found = find_watch(loop, -1);
    uint32_t count = loop->count == 0 ? WATCHES_FIRST : 2 * loop->count;
    struct watch *more;
    if (found != NULL)
        return found;
    more = realloc(loop->watches, count * sizeof *more);
    if (more == NULL)
        return NULL;
    loop->watches = more;
    for (uint32_t i = loop->count; i < count; i++)
        loop->watches[i].fd = -1;
    found = &loop->watches[loop->count];
    loop->count = count;
    return found;
}

int netblt_loop_watch(netblt_loop *loop, int fd, uint32_t events, netblt_watch_fn *call, void *context)
{
    struct watch *watch = find_watch(loop, fd);
    int operation = watch != NULL ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
    struct epoll_event event = {.events = events};
    if (watch == NULL)
        watch = find_free_watch(loop);
    if (watch == NULL)
        return -ENOMEM;
    event.data.u32 = (uint32_t)(watch - loop->watches);
    if (epoll_ctl(loop->epoll_fd, operation, fd, &event) != 0)
        return -errno;
    *watch = (struct watch){.fd = fd, .call = call, .context = context};
    return 0;
}

void netblt_loop_unwatch(netblt_loop *loop, int fd)
{
    struct watch *watch = fd >= 0 ? find_watch(loop, fd) : NULL;
    if (watch == NULL)
        return;
    epoll_ctl(loop->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
    watch->fd = -1;
}

/* An absolute timer cannot drift, and setting it to the past makes it fire at once. */
static void arm_timer(netblt_loop *loop, netblt_time until)
{
    struct itimerspec when = {0};
    if (until == loop->armed_for)
        return;
    if (until != NETBLT_TIME_NEVER) {
        when.it_value.tv_sec = (time_t)(until / 1000000u);
        when.it_value.tv_nsec = (long)(until % 1000000u) * 1000;
        if (when.it_value.tv_sec == 0 && when.it_value.tv_nsec == 0)
            when.it_value.tv_nsec = 1; /* zero would disarm it */
    }
    timerfd_settime(loop->timer_fd, TFD_TIMER_ABSTIME, &when, NULL);
    loop->armed_for = until;
}

static void clear_timer(netblt_loop *loop)
{
    uint64_t expirations;
    if (read(loop->timer_fd, &expirations, sizeof expirations) > 0)
        loop->armed_for = NETBLT_TIME_NEVER;
}

void netblt_loop_wait(netblt_loop *loop, netblt_time until)
{
    struct epoll_event events[EVENTS_MAX];
    int timeout_ms = -1;
    int count;
    if (until <= netblt_clock_now())
        timeout_ms = 0;
    else
        arm_timer(loop, until);
    count = epoll_wait(loop->epoll_fd, events, EVENTS_MAX, timeout_ms);
    for (int i = 0; i < count; i++) { /* -1 with EINTR: nothing is ready, the caller calls again */
        if (events[i].data.u32 == TIMER_SLOT) {
            clear_timer(loop);
        } else {
            const struct watch watch = loop->watches[events[i].data.u32];
            if (watch.fd >= 0) /* an earlier call of this round may have taken it away */
                watch.call(watch.context, events[i].events);
        }
    }
}
