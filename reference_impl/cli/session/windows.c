/* SPDX-License-Identifier: BSD-2-Clause */
/* --schedule: data move in its windows only. */
#include <time.h>

#include "cli/session/session.h"
#include "io/clock.h"

#define SECOND_US UINT64_C(1000000)
/* The host's time can be set, and the host can sleep: it is looked at again after this. */
#define LOOK_AGAIN_S 60

int windows_read(session *all, netblt_failure *failure)
{
    if (all->given->schedule == NULL)
        return 0;
    return schedule_read(all->given->schedule, &all->windows, failure);
}

bool windows_are_open(const session *all)
{
    return all->given->schedule == NULL || schedule_is_open(&all->windows, time(NULL));
}

netblt_time windows_look_again(const session *all)
{
    int64_t now = time(NULL);
    int64_t change = SCHEDULE_NEVER;
    if (all->given->schedule != NULL)
        change = schedule_is_open(&all->windows, now) ? schedule_open_until(&all->windows, now)
                                                      : schedule_next_opening(&all->windows, now);
    if (change == SCHEDULE_NEVER)
        return NETBLT_TIME_NEVER;
    return netblt_clock_now() + (uint64_t)(change - now < LOOK_AGAIN_S ? change - now : LOOK_AGAIN_S) * SECOND_US;
}

int windows_wait(session *all, netblt_failure *failure)
{
    char text[SCHEDULE_TIME_BYTES];
    int64_t opening = schedule_next_opening(&all->windows, time(NULL));
    if (opening == SCHEDULE_NEVER)
        return netblt_fail(failure, NETBLT_FAILURE_LOCAL, "no window of --schedule is left");
    all->retry.try_at = windows_look_again(all);
    if (opening != all->window_told)
        report_note("waiting for a window of --schedule, %s", schedule_time_text(opening, text));
    all->window_told = opening;
    return 0;
}
