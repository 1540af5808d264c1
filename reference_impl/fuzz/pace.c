/* SPDX-License-Identifier: BSD-2-Clause */
/* Oracle of the pace: see pace.h. */
#include "pace.h"

#define BURSTS_AT_ONCE 2 /* the end of one interval and the beginning of the next */

void pace_init(struct pace *pace, struct pace_pair negotiated, netblt_time catch_up_max_us, bool strict)
{
    *pace = (struct pace){.fastest = negotiated, .late_max_us = catch_up_max_us, .strict = strict};
}

void pace_offer(struct pace *pace, struct pace_pair pair)
{
    if (pair.size != pace->fastest.size || pair.interval_ms != pace->fastest.interval_ms)
        pace->strict = false;
    if (pair.size > pace->fastest.size)
        pace->fastest.size = pair.size;
    if (pair.interval_ms < pace->fastest.interval_ms)
        pace->fastest.interval_ms = pair.interval_ms;
}

static bool within_strict_bound(struct pace *pace, netblt_time interval, netblt_time late_max, netblt_time now)
{
    netblt_time next = pace->planned_at + interval;
    if (!pace->begun || now >= next) {
        pace->planned_at = pace->begun && now - next <= late_max ? next : now;
        pace->used = 0;
    }
    return ++pace->used <= pace->fastest.size;
}

bool pace_sent(struct pace *pace, netblt_time now)
{
    netblt_time interval = (netblt_time)pace->fastest.interval_ms * 1000;
    if (interval == 0)
        return true;
    netblt_time late_max = pace->late_max_us < interval / 4 ? pace->late_max_us : interval / 4;
    bool in_time = !pace->strict || within_strict_bound(pace, interval, late_max, now);
    double per_us = (double)pace->fastest.size / (double)interval;
    pace->level -= pace->begun ? (double)(now - pace->last_at) * per_us : pace->level;
    if (pace->level < 0)
        pace->level = 0;
    pace->level += 1;
    pace->last_at = now;
    pace->begun = true;
    return in_time && pace->level <= BURSTS_AT_ONCE * pace->fastest.size + (double)late_max * per_us + 1;
}
