/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads the text of a schedule: the syntax and its errors. schedule.h describes it. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli/session/schedule.h"

#define MINUTE_S 60
#define HOUR_S 3600
#define DAY_S 86400
#define LENGTH_MAX_S (INT64_C(366) * DAY_S)
#define YEAR_FIRST 1970
#define YEAR_LAST 9999
/* A file with the most windows, each with a comment of a line. */
#define FILE_BYTES_MAX (2u << 20)

/* What is being read, and where. */
typedef struct reader {
    const char *begin;
    const char *at;
    const char *origin;
    netblt_failure *failure;
} reader;

/* ---- errors ----------------------------------------------------------------------------------------------------- */

/* Characters between two places of a line; bytes that continue a character of UTF-8 do not count. */
static unsigned characters(const char *from, const char *to)
{
    unsigned count = 0;
    for (; from < to; from++)
        count += ((unsigned char)*from & 0xc0) != 0x80;
    return count;
}

static int wrong_at(const reader *read, const char *place, const char *what)
{
    const char *line_start = read->begin;
    unsigned line = 1;
    for (const char *at = read->begin; at < place; at++)
        if (*at == '\n') {
            line++;
            line_start = at + 1;
        }
    netblt_fail(read->failure, NETBLT_FAILURE_LOCAL, "%s: line %u, column %u: %s", read->origin, line,
                characters(line_start, place) + 1, what);
    return -1;
}

/* ---- parts ------------------------------------------------------------------------------------------------------ */

static bool accept(reader *read, char wanted)
{
    if (*read->at != wanted)
        return false;
    read->at++;
    return true;
}

/* Exactly `digits` digits, at most `most`. False, with the reader where it was. */
static bool read_digits(reader *read, unsigned digits, unsigned most, unsigned *value)
{
    unsigned read_value = 0;
    for (unsigned i = 0; i < digits; i++) {
        if (!isdigit((unsigned char)read->at[i]))
            return false;
        read_value = read_value * 10 + (unsigned)(read->at[i] - '0');
    }
    if (isdigit((unsigned char)read->at[digits]) || read_value > most)
        return false;
    read->at += digits;
    *value = read_value;
    return true;
}

/* "HH:MM" or "HH:MM:SS" as seconds since midnight. 24:00 is allowed where a window ends. */
static int read_clock(reader *read, bool is_end, int64_t *seconds)
{
    const char *place = read->at;
    unsigned hour;
    unsigned minute;
    unsigned second = 0;
    if (!read_digits(read, 2, is_end ? 24 : 23, &hour))
        return wrong_at(read, place,
                        is_end ? "expected a time of day from 00:00 to 24:00"
                               : "expected a time of day, such as 10:00");
    if (!accept(read, ':') || !read_digits(read, 2, 59, &minute))
        return wrong_at(read, read->at, "expected minutes from 00 to 59, as in 10:00");
    if (*read->at == ':') {
        read->at++;
        if (!read_digits(read, 2, 59, &second))
            return wrong_at(read, read->at, "expected seconds from 00 to 59");
    }
    *seconds = (int64_t)hour * HOUR_S + minute * MINUTE_S + second;
    return *seconds <= DAY_S ? 0 : wrong_at(read, place, "a day ends at 24:00");
}

/* "Z", "+HH:MM", "-HH:MM" or nothing, as the seconds by which the stated time is ahead of UTC. What follows a time may
 * begin with "+" too: the length of the window, which has no ":". */
static int read_offset(reader *read, int64_t *seconds)
{
    const char *place = read->at;
    unsigned hours;
    unsigned minutes;
    *seconds = 0;
    if (accept(read, 'Z') || (*place != '+' && *place != '-') || !isdigit((unsigned char)place[1]) ||
        !isdigit((unsigned char)place[2]) || place[3] != ':')
        return 0;
    read->at++;
    if (!read_digits(read, 2, 23, &hours) || !accept(read, ':') || !read_digits(read, 2, 59, &minutes))
        return wrong_at(read, place, "expected an offset from UTC between -23:59 and +23:59");
    *seconds = (*place == '-' ? -1 : 1) * ((int64_t)hours * HOUR_S + minutes * MINUTE_S);
    return 0;
}

/* "YYYY-MM-DDTHH:MM[:SS][OFFSET]" as seconds since 1970. */
static int read_moment(reader *read, int64_t *moment)
{
    const char *place = read->at;
    struct tm date = {0};
    struct tm same;
    unsigned year;
    unsigned month;
    unsigned day;
    int64_t clock = 0;
    int64_t offset = 0;
    time_t midnight;
    if (!read_digits(read, 4, YEAR_LAST, &year) || !accept(read, '-') || !read_digits(read, 2, 12, &month) ||
        !accept(read, '-') || !read_digits(read, 2, 31, &day))
        return wrong_at(read, place, "expected a date and a time, such as 2026-11-26T10:00:00Z");
    date.tm_year = (int)year - 1900;
    date.tm_mon = (int)month - 1;
    date.tm_mday = (int)day;
    midnight = timegm(&date);
    if (year < YEAR_FIRST || gmtime_r(&midnight, &same) == NULL || same.tm_mday != (int)day ||
        same.tm_mon != (int)month - 1)
        return wrong_at(read, place, "there is no such date");
    if (!accept(read, 'T'))
        return wrong_at(read, read->at, "expected T and a time of day after the date, as in 2026-11-26T10:00:00Z");
    if (read_clock(read, false, &clock) != 0 || read_offset(read, &offset) != 0)
        return -1;
    *moment = (int64_t)midnight + clock - offset;
    return 0;
}

/* "1h30m": numbers with units, the largest first. */
static int read_length(reader *read, int64_t most, int64_t *length)
{
    static const char units[] = "dhms";
    static const int64_t seconds_of[] = {DAY_S, HOUR_S, MINUTE_S, 1};
    const char *place = read->at;
    const char *next_unit = units;
    int64_t seconds = 0;
    while (isdigit((unsigned char)*read->at)) {
        const char *number = read->at;
        int64_t value = 0;
        const char *unit;
        for (; isdigit((unsigned char)*read->at); read->at++)
            value = value > LENGTH_MAX_S ? value : value * 10 + (*read->at - '0');
        unit = *read->at == '\0' ? NULL : strchr(next_unit, *read->at);
        if (unit == NULL)
            return wrong_at(read, number, "expected a length with units, the largest first, such as 12m or 1h30m");
        seconds += value * seconds_of[unit - units];
        next_unit = unit + 1;
        read->at++;
    }
    if (read->at == place)
        return wrong_at(read, place, "expected the length of the window, such as 12m or 1h30m");
    if (seconds == 0 || seconds > most)
        return wrong_at(read, place,
                        most == DAY_S ? "a daily window is between 1 second and 1 day long"
                                      : "a window is between 1 second and 366 days long");
    *length = seconds;
    return 0;
}

/* ---- windows ---------------------------------------------------------------------------------------------------- */

static int read_absolute(reader *read, schedule_window *window)
{
    const char *place;
    int64_t end;
    if (read_moment(read, &window->start) != 0)
        return -1;
    if (accept(read, '+'))
        return read_length(read, LENGTH_MAX_S, &window->length);
    if (!accept(read, '/'))
        return wrong_at(read, read->at, "expected + and a length, or / and the end of the window");
    place = read->at;
    if (read_moment(read, &end) != 0)
        return -1;
    if (end <= window->start || end - window->start > LENGTH_MAX_S)
        return wrong_at(read, place, "the end must be after the start, by at most 366 days");
    window->length = end - window->start;
    return 0;
}

static int read_daily(reader *read, schedule_window *window)
{
    const char *place;
    int64_t end;
    window->daily = true;
    if (read_clock(read, false, &window->start) != 0)
        return -1;
    (void)accept(read, 'Z');
    if (accept(read, '+'))
        return read_length(read, DAY_S, &window->length);
    if (!accept(read, '-'))
        return wrong_at(read, read->at, "expected - and the end of the daily window, or + and its length");
    place = read->at;
    if (read_clock(read, true, &end) != 0)
        return -1;
    (void)accept(read, 'Z');
    if (end == window->start)
        return wrong_at(read, place, "the window ends when it starts; a whole day is 00:00-24:00");
    window->length = end > window->start ? end - window->start : end + DAY_S - window->start;
    return 0;
}

/* 0, or -1 with *failure. A date has its first "-" after four digits. */
static int read_window(reader *read, schedule_window *window)
{
    const char *place = read->at;
    int error;
    *window = (schedule_window){0};
    if (!isdigit((unsigned char)*place))
        return wrong_at(read, place, "expected a window, such as 2026-11-26T10:00:00Z+12m or 10:00-10:12");
    error = strspn(place, "0123456789") == 2 ? read_daily(read, window) : read_absolute(read, window);
    if (error == 0 && *read->at != '\0' && strchr(" \t\r\n,#", *read->at) == NULL)
        return wrong_at(read, read->at, "expected a comma or the end of the line after the window");
    return error;
}

/* Blanks, ends of lines and comments; with `*separated` also whether a comma or the end of a line was among them. */
static void skip(reader *read, bool *separated)
{
    for (;;) {
        if (*read->at == '#')
            read->at += strcspn(read->at, "\n");
        if (*read->at == '\0' || strchr(" \t\r\n,", *read->at) == NULL)
            return;
        *separated = *separated || *read->at == ',' || *read->at == '\n';
        read->at++;
    }
}

static int add_window(reader *read, schedule *made, size_t *capacity)
{
    schedule_window *windows;
    if (made->count == SCHEDULE_WINDOWS_MAX)
        return wrong_at(read, read->at, "too many windows; at most 10000 are allowed");
    if (made->count == *capacity) {
        *capacity = *capacity == 0 ? 16 : *capacity * 2;
        windows = realloc(made->windows, *capacity * sizeof *windows);
        if (windows == NULL) {
            netblt_fail(read->failure, NETBLT_FAILURE_LOCAL, "not enough memory");
            return -1;
        }
        made->windows = windows;
    }
    if (read_window(read, &made->windows[made->count]) != 0)
        return -1;
    made->count++;
    return 0;
}

int schedule_parse(const char *text, const char *origin, schedule *made, netblt_failure *failure)
{
    reader read = {.begin = text, .at = text, .origin = origin, .failure = failure};
    size_t capacity = 0;
    bool separated = true;
    *made = (schedule){0};
    for (skip(&read, &separated); *read.at != '\0'; skip(&read, &separated)) {
        int error = separated ? add_window(&read, made, &capacity)
                              : wrong_at(&read, read.at, "expected a comma between windows");
        separated = false;
        if (error != 0) {
            schedule_free(made);
            return -1;
        }
    }
    schedule_merge(made);
    if (made->count > 0)
        return 0;
    return netblt_fail(failure, NETBLT_FAILURE_LOCAL,
                       "%s: no window; give one, such as 2026-11-26T10:00:00Z+12m or 10:00-10:12", origin);
}

/* ---- files ------------------------------------------------------------------------------------------------------ */

/* Reads a whole file into `text`, of FILE_BYTES_MAX + 1 bytes. NULL, or what is wrong. */
static const char *read_file(const char *name, char *text)
{
    const char *problem = NULL;
    FILE *file = fopen(name, "re");
    size_t length;
    if (file == NULL)
        return strerror(errno);
    length = fread(text, 1, FILE_BYTES_MAX + 1, file);
    if (ferror(file))
        problem = strerror(errno);
    else if (length > FILE_BYTES_MAX)
        problem = "longer than 2 MiB";
    else if (memchr(text, '\0', length) != NULL)
        problem = "not a text file";
    else
        text[length] = '\0';
    fclose(file);
    return problem;
}

int schedule_read(const char *value, schedule *made, netblt_failure *failure)
{
    char origin[300];
    const char *problem;
    char *text;
    int error;
    *made = (schedule){0};
    if (isdigit((unsigned char)value[0]))
        return schedule_parse(value, "--schedule", made, failure);
    text = calloc(1, FILE_BYTES_MAX + 1);
    problem = text == NULL ? "not enough memory" : read_file(value, text);
    snprintf(origin, sizeof origin, "--schedule %s", value);
    error = problem == NULL ? schedule_parse(text, origin, made, failure)
                            : netblt_fail(failure, NETBLT_FAILURE_LOCAL, "%s: %s", origin, problem);
    free(text);
    return error;
}
