/* SPDX-License-Identifier: BSD-2-Clause */
/* The monotonic clock. */
#include "io/clock.h"

#include <sys/prctl.h>
#include <time.h>

netblt_time netblt_clock_of(const struct timespec *time)
{
    return (netblt_time)time->tv_sec * 1000000u + (netblt_time)time->tv_nsec / 1000u;
}

netblt_time netblt_clock_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return netblt_clock_of(&now);
}

netblt_time netblt_clock_wall(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return netblt_clock_of(&now);
}

void netblt_clock_make_precise(void)
{
    prctl(PR_SET_TIMERSLACK, 1ul, 0ul, 0ul, 0ul); /* nanoseconds; 0 would mean the default */
}

void netblt_clock_sleep_until(netblt_time until)
{
    const struct timespec when = {.tv_sec = (time_t)(until / 1000000u), .tv_nsec = (long)(until % 1000000u) * 1000};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &when, NULL);
}
