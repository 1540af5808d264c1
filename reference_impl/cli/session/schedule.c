/* SPDX-License-Identifier: BSD-2-Clause */
/* Schedules: when windows of time are open. schedule_text.c reads them. */
#include "cli/session/schedule.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define DAY_S 86400

void schedule_free(schedule *made)
{
    free(made->windows);
    *made = (schedule){0};
}

/* ---- order ------------------------------------------------------------------------------------------------------ */

static int compare(const void *left, const void *right)
{
    const schedule_window *a = left;
    const schedule_window *b = right;
    if (a->daily != b->daily)
        return a->daily ? 1 : -1;
    return (a->start > b->start) - (a->start < b->start);
}

/* Takes `later`, which does not start earlier, into `window` if the two meet. */
static bool join(schedule_window *window, const schedule_window *later)
{
    int64_t end = later->start + later->length - window->start;
    if (window->daily != later->daily || later->start > window->start + window->length)
        return false;
    window->length = end > window->length ? end : window->length;
    return true;
}

/* The last daily window may reach the first ones of the next day. */
static void join_around_midnight(schedule *made)
{
    size_t first = 0;
    while (first < made->count && !made->windows[first].daily)
        first++;
    while (first + 1 < made->count) {
        schedule_window next_day = made->windows[first];
        next_day.start += DAY_S;
        if (!join(&made->windows[made->count - 1], &next_day))
            break;
        memmove(&made->windows[first], &made->windows[first + 1], (--made->count - first) * sizeof *made->windows);
    }
    if (first < made->count && made->windows[first].length >= DAY_S) {
        made->windows[first] = (schedule_window){.daily = true, .length = DAY_S};
        made->count = first + 1;
    }
}

void schedule_merge(schedule *made)
{
    size_t kept = 0;
    if (made->count == 0)
        return;
    qsort(made->windows, made->count, sizeof *made->windows, compare);
    for (size_t i = 1; i < made->count; i++)
        if (!join(&made->windows[kept], &made->windows[i]))
            made->windows[++kept] = made->windows[i];
    made->count = kept + 1;
    join_around_midnight(made);
}

/* ---- time ------------------------------------------------------------------------------------------------------- */

/* Seconds since midnight, 0 to 86399, before 1970 too. */
static int64_t second_of_day(int64_t moment)
{
    int64_t second = moment % DAY_S;
    return second < 0 ? second + DAY_S : second;
}

/* Seconds of the window that remain at `moment`; 0: it is not open. */
static int64_t remaining(const schedule_window *window, int64_t moment)
{
    int64_t since = window->daily ? second_of_day(second_of_day(moment) - window->start) : moment - window->start;
    return since >= 0 && since < window->length ? window->length - since : 0;
}

/* The most that any window has left at `moment`. */
static int64_t most_remaining(const schedule *when, int64_t moment)
{
    int64_t most = 0;
    for (size_t i = 0; i < when->count; i++) {
        int64_t left = remaining(&when->windows[i], moment);
        most = left > most ? left : most;
    }
    return most;
}

bool schedule_is_open(const schedule *when, int64_t now)
{
    return most_remaining(when, now) > 0;
}

/* Each step crosses a window. Those of one kind do not meet, so that daily and absolute ones alternate. */
int64_t schedule_open_until(const schedule *when, int64_t now)
{
    const schedule_window *last = when->count == 0 ? NULL : &when->windows[when->count - 1];
    int64_t until = now;
    int64_t left;
    if (last != NULL && last->daily && last->length == DAY_S)
        return SCHEDULE_NEVER;
    while ((left = most_remaining(when, until)) > 0)
        until += left;
    return until;
}

int64_t schedule_next_opening(const schedule *when, int64_t now)
{
    int64_t next = SCHEDULE_NEVER;
    if (schedule_is_open(when, now))
        return now;
    for (size_t i = 0; i < when->count; i++) {
        const schedule_window *window = &when->windows[i];
        int64_t start = window->daily ? now + second_of_day(window->start - second_of_day(now)) : window->start;
        if (start > now && start < next)
            next = start;
    }
    return next;
}

const char *schedule_time_text(int64_t moment, char to[SCHEDULE_TIME_BYTES])
{
    time_t seconds = (time_t)moment;
    struct tm parts;
    if (moment == SCHEDULE_NEVER || gmtime_r(&seconds, &parts) == NULL ||
        strftime(to, SCHEDULE_TIME_BYTES, "%Y-%m-%dT%H:%M:%SZ", &parts) == 0)
        snprintf(to, SCHEDULE_TIME_BYTES, "never");
    return to;
}
