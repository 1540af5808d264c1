/* SPDX-License-Identifier: BSD-2-Clause */
/* Schedules: windows of time in which data may move, such as the passes of a satellite. */
#ifndef NETBLT_CLI_SCHEDULE_H
#define NETBLT_CLI_SCHEDULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "io/failure.h"

/* The text of a schedule, as --schedule has it, is a list of windows with commas between them, or the name of a file
 * with such lists, one or more windows a line; "#" begins a comment that ends with its line. All times are UTC, unless
 * an absolute time states another offset.
 *
 *     2026-11-26T10:00:00Z+12m            from this moment, for so long
 *     2026-11-26T10:00/2026-11-26T10:12   from one moment to another
 *     2026-11-26T11:00+01:00+12m          the same as the first; +01:00 is the offset from UTC
 *     10:00-10:12                         each day
 *     22:00-02:00                         each day, past midnight
 *     10:00+12m                           each day, for so long
 *
 * Seconds may be left out, and so may Z. A length is a list of numbers with units, the largest first, in d, h, m and s:
 * "12m", "1h30m", "90s". It is at least a second, for a daily window at most a day. A daily window may end at 24:00. A
 * leap second is the first second of the next minute, as in the system's clock.
 *
 * A window holds its first moment, but not its last. Windows may overlap; those that meet are one.
 *
 * All functions but schedule_read() are pure: the time is a parameter, in seconds since 1970-01-01T00:00:00Z as time()
 * returns it. */

#define SCHEDULE_NEVER INT64_MAX

/* More windows than a year of passes has. */
#define SCHEDULE_WINDOWS_MAX 10000

typedef struct schedule_window {
    int64_t start;  /* daily: seconds since midnight, 0 to 86399; else seconds since 1970 */
    int64_t length; /* seconds, at least 1; daily: at most 86400, which is all the time */
    bool daily;
} schedule_window;

/* Absolute windows before daily ones, each in the order of their starts; two of the same kind do not meet. All zero: no
 * windows, never open. */
typedef struct schedule {
    schedule_window *windows; /* owned */
    size_t count;
} schedule;

/* Reads the text of a list or of a file into *made, which schedule_free() frees later. `origin` is what the text is
 * called in errors, such as "--schedule" or a file's name. 0, or -1 with *failure, which names line and column (of
 * characters, from 1) and what is expected there; *made is then empty. A text without windows is an error. */
int schedule_parse(const char *text, const char *origin, schedule *made, netblt_failure *failure);

/* The same for the value of --schedule: a list if it begins with a digit, else the name of a file, which is read here,
 * so before the process is confined. A file whose name begins with a digit is written with its directory, as in
 * "./2026.txt". */
int schedule_read(const char *value, schedule *made, netblt_failure *failure);

/* Brings windows in any order, which may meet, into the order of struct schedule. schedule_parse() has done it. */
void schedule_merge(schedule *made);

void schedule_free(schedule *made);

/* Whether a window is open at `now`. */
bool schedule_is_open(const schedule *when, int64_t now);

/* When the window that is open at `now` ends, together with all windows that overlap or follow it without a gap. `now`
 * where none is open; SCHEDULE_NEVER where daily windows cover the whole day. */
int64_t schedule_open_until(const schedule *when, int64_t now);

/* The first moment from `now` on at which a window is open: `now` itself while one is, SCHEDULE_NEVER when all windows
 * have passed. */
int64_t schedule_next_opening(const schedule *when, int64_t now);

/* `moment` as "2026-11-26T10:00:00Z", or "never". Returns `to`. */
#define SCHEDULE_TIME_BYTES 32
const char *schedule_time_text(int64_t moment, char to[SCHEDULE_TIME_BYTES]);

#endif
