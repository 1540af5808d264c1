/* SPDX-License-Identifier: BSD-2-Clause */
#include "io/clock.h"

#include <sys/prctl.h>
#include <time.h>

netblt_time netblt_clock_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (netblt_time)now.tv_sec * 1000000u + (netblt_time)now.tv_nsec / 1000u;
}

void netblt_clock_make_precise(void)
{
    prctl(PR_SET_TIMERSLACK, 1ul, 0ul, 0ul, 0ul); /* nanoseconds; 0 would mean the default */
}
