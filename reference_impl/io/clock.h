/* SPDX-License-Identifier: BSD-2-Clause */
/* The monotonic clock. */
#ifndef NETBLT_IO_CLOCK_H
#define NETBLT_IO_CLOCK_H

#include <netblt/types.h>
#include <time.h>

/* A time of any clock, in microseconds of it. */
netblt_time netblt_clock_of(const struct timespec *time);

/* Now, in microseconds of CLOCK_MONOTONIC: the clock that the endpoint and the loop's timer share. */
netblt_time netblt_clock_now(void);

/* Now, in microseconds of CLOCK_REALTIME, which may be set at any moment. */
netblt_time netblt_clock_wall(void);

/* Sleeps until that moment, or a signal. */
void netblt_clock_sleep_until(netblt_time until);

/* Asks the kernel to wake this thread when it said, not up to 50 us later: a burst interval is counted from start to
 * start (RFC 998 section 4), so lateness shows as a slower transfer. */
void netblt_clock_make_precise(void);

#endif
