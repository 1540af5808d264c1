/* SPDX-License-Identifier: BSD-2-Clause */
/* The event loop: waits for sockets and timers. */
#ifndef NETBLT_IO_LOOP_H
#define NETBLT_IO_LOOP_H

#include <stdint.h>

#include <netblt/types.h>

/* Waits for file descriptors and for one moment in time, to the microsecond. */
typedef struct netblt_loop netblt_loop;

/* `events` are epoll's; calls may come without cause, so read and write without blocking. */
typedef void netblt_watch_fn(void *context, uint32_t events);

/* NULL with errno. */
netblt_loop *netblt_loop_new(void);
void netblt_loop_free(netblt_loop *loop);

/* Watches `fd`, or changes what is watched for. 0 or -errno: -EPERM for regular files, which are always ready. */
int netblt_loop_watch(netblt_loop *loop, int fd, uint32_t events, netblt_watch_fn *call, void *context);
void netblt_loop_unwatch(netblt_loop *loop, int fd);

/* Sleeps until something watched is ready or `until` (netblt_clock_now()'s scale) has come; calls what is ready. */
void netblt_loop_wait(netblt_loop *loop, netblt_time until);

#endif
