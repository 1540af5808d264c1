/* SPDX-License-Identifier: BSD-2-Clause */
/* Schedules: what is read, what is refused and where, and when windows are open. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "cli/session/schedule.h"

#define DAY INT64_C(86400)
/* 2026-11-26T00:00:00Z */
#define MIDNIGHT INT64_C(1795651200)
#define AT(hour, minute) (MIDNIGHT + (hour)*INT64_C(3600) + (minute)*INT64_C(60))

static schedule parsed(const char *text)
{
    schedule made;
    netblt_failure failure = {0};
    if (schedule_parse(text, "--schedule", &made, &failure) != 0)
        fprintf(stderr, "%s: %s\n", text, failure.text);
    CHECK(failure.kind == NETBLT_FAILURE_NONE);
    CHECK(made.count > 0);
    return made;
}

static int64_t open_until(const char *text, int64_t now)
{
    schedule made = parsed(text);
    int64_t until = schedule_open_until(&made, now);
    CHECK(schedule_is_open(&made, now) == (until != now));
    CHECK((schedule_next_opening(&made, now) == now) == schedule_is_open(&made, now));
    schedule_free(&made);
    return until;
}

static int64_t next_opening(const char *text, int64_t now)
{
    schedule made = parsed(text);
    int64_t next = schedule_next_opening(&made, now);
    CHECK(next == SCHEDULE_NEVER ||
          (schedule_is_open(&made, next) && (next == now || !schedule_is_open(&made, next - 1))));
    schedule_free(&made);
    return next;
}

static void the_day_of_these_tests_is_what_it_seems(void)
{
    char text[SCHEDULE_TIME_BYTES];
    CHECK(strcmp(schedule_time_text(AT(10, 0), text), "2026-11-26T10:00:00Z") == 0);
    CHECK(strcmp(schedule_time_text(0, text), "1970-01-01T00:00:00Z") == 0);
    CHECK(strcmp(schedule_time_text(SCHEDULE_NEVER, text), "never") == 0);
}

static void a_window_holds_its_first_moment_and_not_its_last(void)
{
    static const char *const same[] = {
        "2026-11-26T10:00:00Z+12m",
        "2026-11-26T10:00+12m",
        "2026-11-26T10:00/2026-11-26T10:12",
        "2026-11-26T10:00:00Z/2026-11-26T10:12:00Z",
        "2026-11-26T11:00+01:00+12m",
        "2026-11-25T22:30-11:30+720s",
        "2026-11-26T11:00+01:00/2026-11-26T09:12-01:00",
    };
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        CHECK_EQUAL(open_until(same[i], AT(10, 0) - 1), AT(10, 0) - 1);
        CHECK_EQUAL(open_until(same[i], AT(10, 0)), AT(10, 12));
        CHECK_EQUAL(open_until(same[i], AT(10, 12) - 1), AT(10, 12));
        CHECK_EQUAL(open_until(same[i], AT(10, 12)), AT(10, 12));
        CHECK_EQUAL(next_opening(same[i], 0), AT(10, 0));
        CHECK_EQUAL(next_opening(same[i], AT(10, 5)), AT(10, 5));
        CHECK_EQUAL(next_opening(same[i], AT(10, 12)), SCHEDULE_NEVER);
    }
}

static void a_daily_window_comes_each_day(void)
{
    static const char *const same[] = {"10:00-10:12", "10:00Z-10:12Z", "10:00:00-10:12:00", "10:00+12m",
                                       " 10:00+720s "};
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        for (int64_t day = -30000; day < 30000; day += 997) {
            int64_t shift = day * DAY;
            CHECK_EQUAL(open_until(same[i], AT(10, 0) - 1 + shift), AT(10, 0) - 1 + shift);
            CHECK_EQUAL(open_until(same[i], AT(10, 0) + shift), AT(10, 12) + shift);
            CHECK_EQUAL(next_opening(same[i], AT(9, 0) + shift), AT(10, 0) + shift);
            CHECK_EQUAL(next_opening(same[i], AT(10, 12) + shift), AT(10, 0) + DAY + shift);
        }
    }
}

static void a_daily_window_may_pass_midnight(void)
{
    CHECK_EQUAL(open_until("22:00-02:00", AT(23, 0)), AT(26, 0));
    CHECK_EQUAL(open_until("22:00-02:00", AT(1, 0)), AT(2, 0));
    CHECK_EQUAL(open_until("22:00-02:00", AT(0, 0)), AT(2, 0));
    CHECK_EQUAL(next_opening("22:00-02:00", AT(2, 0)), AT(22, 0));
    CHECK_EQUAL(open_until("22:00-24:00", AT(23, 0)), AT(24, 0));
    CHECK_EQUAL(open_until("22:00+4h", AT(23, 0)), AT(26, 0));
    CHECK_EQUAL(open_until("22:00-24:00,00:00-01:00", AT(23, 0)), AT(25, 0));
    CHECK_EQUAL(open_until("22:00-24:00,00:00-01:00,00:30-02:00", AT(23, 0)), AT(26, 0));
}

static void windows_that_meet_are_one(void)
{
    const char *chain =
        "2026-11-26T10:00+10m,2026-11-26T10:10+5m,10:12-10:20,2026-11-26T10:19+1m30s,2026-11-26T12:00+1s";
    CHECK_EQUAL(open_until(chain, AT(10, 3)), AT(10, 20) + 30);
    CHECK_EQUAL(open_until(chain, AT(10, 3) + DAY), AT(10, 3) + DAY);
    CHECK_EQUAL(open_until(chain, AT(10, 13) + DAY), AT(10, 20) + DAY);
    CHECK_EQUAL(next_opening(chain, AT(10, 21)), AT(12, 0));
    CHECK_EQUAL(next_opening(chain, AT(12, 1)), AT(10, 12) + DAY);
    CHECK_EQUAL(open_until("2026-11-26T10:00+1h,2026-11-26T10:10+5m", AT(10, 3)), AT(11, 0));
}

static void windows_may_cover_all_the_time(void)
{
    static const char *const whole[] = {"00:00-24:00",
                                        "00:00+1d",
                                        "17:30+24h",
                                        "00:00-12:00,12:00-24:00",
                                        "22:00-02:00,01:00-22:00",
                                        "06:00-14:00,14:00-22:00,22:00-06:00"};
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++) {
        schedule made = parsed(whole[i]);
        CHECK_EQUAL(made.count, 1);
        CHECK_EQUAL(schedule_open_until(&made, AT(3, 4)), SCHEDULE_NEVER);
        CHECK_EQUAL(schedule_next_opening(&made, AT(3, 4)), AT(3, 4));
        schedule_free(&made);
    }
    CHECK_EQUAL(open_until("00:00-23:59:59", AT(3, 4)), AT(24, 0) - 1);
}

static void lengths_have_units(void)
{
    static const struct {
        const char *text;
        int64_t seconds;
    } lengths[] = {{"1s", 1},           {"90s", 90},  {"12m", 720},
                   {"1h30m", 5400},     {"1d", DAY},  {"2d3h4m5s", 2 * DAY + 3 * 3600 + 4 * 60 + 5},
                   {"366d", 366 * DAY}, {"0h5m", 300}};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        char text[80];
        snprintf(text, sizeof text, "2026-11-26T10:00+%s", lengths[i].text);
        CHECK_EQUAL(open_until(text, AT(10, 0)), AT(10, 0) + lengths[i].seconds);
    }
}

static void dates_are_those_of_the_calendar(void)
{
    CHECK_EQUAL(next_opening("2028-02-29T00:00+1s", 0), MIDNIGHT + 460 * DAY);
    CHECK_EQUAL(next_opening("1970-01-01T00:00:07+1s", 0), 7);
    CHECK_EQUAL(next_opening("2000-02-29T23:59:59Z+1s", 0), INT64_C(951868799));
}

static void check_refused(const char *text, const char *wanted)
{
    netblt_failure failure = {0};
    schedule made = {.count = 7};
    int result = schedule_parse(text, "passes.txt", &made, &failure);
    if (result == 0 || strcmp(failure.text, wanted) != 0) {
        fprintf(stderr, "%s\n%s\nwanted:\n%s\n", text, failure.text, wanted);
        abort();
    }
    CHECK(failure.kind == NETBLT_FAILURE_LOCAL);
    CHECK(made.windows == NULL && made.count == 0);
}

static void what_is_wrong_is_named_with_its_place(void)
{
#define WRONG(line, column, what) "passes.txt: line " #line ", column " #column ": " what
#define NO_WINDOW "passes.txt: no window; give one, such as 2026-11-26T10:00:00Z+12m or 10:00-10:12"
    static const char *const texts[][2] = {
        {"", NO_WINDOW},
        {"# nothing\n\n , \n", NO_WINDOW},
        {"noon", WRONG(1, 1, "expected a window, such as 2026-11-26T10:00:00Z+12m or 10:00-10:12")},
        {"10:00-10:12,+1h", WRONG(1, 13, "expected a window, such as 2026-11-26T10:00:00Z+12m or 10:00-10:12")},
        {"10:00-10:12\n# pass 2\n  11:00-11:99\n", WRONG(3, 12, "expected minutes from 00 to 59, as in 10:00")},
        {"10:00-10:12 # Ärger\r\n25:00-10:12", WRONG(2, 1, "expected a time of day, such as 10:00")},
        {"10:00-10:12,\u00c4rger", WRONG(1, 13, "expected a window, such as 2026-11-26T10:00:00Z+12m or 10:00-10:12")},
        {"10:00-10:12,11:00\u20ac,", WRONG(1, 18, "expected - and the end of the daily window, or + and its length")},
        {"10:00-10:12\u20ac\u20ac", WRONG(1, 12, "expected a comma or the end of the line after the window")},
        {"10:00-10:12 11:00-11:12", WRONG(1, 13, "expected a comma between windows")},
        {"10:00-10:12;11:00-11:12", WRONG(1, 12, "expected a comma or the end of the line after the window")},
        {"10:00-25:00", WRONG(1, 7, "expected a time of day from 00:00 to 24:00")},
        {"10:00-24:01", WRONG(1, 7, "a day ends at 24:00")},
        {"24:00-01:00", WRONG(1, 1, "expected a time of day, such as 10:00")},
        {"10:00:60-11:00", WRONG(1, 7, "expected seconds from 00 to 59")},
        {"10:00", WRONG(1, 6, "expected - and the end of the daily window, or + and its length")},
        {"10-12", WRONG(1, 3, "expected minutes from 00 to 59, as in 10:00")},
        {"10:00-10:00", WRONG(1, 7, "the window ends when it starts; a whole day is 00:00-24:00")},
        {"10:00+", WRONG(1, 7, "expected the length of the window, such as 12m or 1h30m")},
        {"10:00+12", WRONG(1, 7, "expected a length with units, the largest first, such as 12m or 1h30m")},
        {"10:00+1m1h", WRONG(1, 9, "expected a length with units, the largest first, such as 12m or 1h30m")},
        {"10:00+1m1m", WRONG(1, 9, "expected a length with units, the largest first, such as 12m or 1h30m")},
        {"10:00+0s", WRONG(1, 7, "a daily window is between 1 second and 1 day long")},
        {"10:00+24h1s", WRONG(1, 7, "a daily window is between 1 second and 1 day long")},
        {"2026-11-26T10:00+367d", WRONG(1, 18, "a window is between 1 second and 366 days long")},
        {"2026-11-26T10:00+99999999999999999999999999d",
         WRONG(1, 18, "a window is between 1 second and 366 days long")},
        {"2026-11-26 10:00+12m",
         WRONG(1, 11, "expected T and a time of day after the date, as in 2026-11-26T10:00:00Z")},
        {"2026-11-31T10:00+12m", WRONG(1, 1, "there is no such date")},
        {"2026-02-29T10:00+12m", WRONG(1, 1, "there is no such date")},
        {"1969-12-31T10:00+12m", WRONG(1, 1, "there is no such date")},
        {"2026-13-01T10:00+12m", WRONG(1, 1, "expected a date and a time, such as 2026-11-26T10:00:00Z")},
        {"2026-1-01T10:00+12m", WRONG(1, 1, "expected a date and a time, such as 2026-11-26T10:00:00Z")},
        {"2026-11-26T10:00Z", WRONG(1, 18, "expected + and a length, or / and the end of the window")},
        {"2026-11-26T10:00+25:00+1m", WRONG(1, 17, "expected an offset from UTC between -23:59 and +23:59")},
        {"2026-11-26T10:00/10:12", WRONG(1, 18, "expected a date and a time, such as 2026-11-26T10:00:00Z")},
        {"2026-11-26T10:00/2026-11-26T10:00", WRONG(1, 18, "the end must be after the start, by at most 366 days")},
        {"2026-11-26T10:00/2026-11-26T10:00+01:00",
         WRONG(1, 18, "the end must be after the start, by at most 366 days")},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        check_refused(texts[i][0], texts[i][1]);
}

/* No text makes the reader read beyond its end, or answer with anything but a schedule or an error. */
static void every_part_of_a_text_is_a_schedule_or_an_error(void)
{
    static const char whole[] =
        "2026-11-26T10:00:00+01:00+1d2h3m4s, 10:00:00Z-24:00 # x\n2026-11-26T10:00/2026-11-27T10:00Z";
    for (size_t from = 0; from < sizeof whole; from++)
        for (size_t length = 0; from + length < sizeof whole; length++) {
            char *text = strndup(whole + from, length); /* of its own, so that sanitizers see its end */
            netblt_failure failure = {0};
            schedule made;
            CHECK(text != NULL);
            CHECK((schedule_parse(text, "x", &made, &failure) == 0) == (made.count > 0));
            CHECK((failure.kind == NETBLT_FAILURE_NONE) == (made.count > 0));
            schedule_free(&made);
            free(text);
        }
}

static void a_file_has_windows_in_its_lines_and_comments(void)
{
    char name[] = "/tmp/netblt-schedule-XXXXXX";
    char wanted[200];
    int fd = mkstemp(name);
    FILE *file = fdopen(fd, "w");
    netblt_failure failure = {0};
    schedule made;
    CHECK(file != NULL);
    fputs("# passes of November\r\n\r\n2026-11-26T10:00Z+12m\t# the first\r\n  08:00-09:00,12:00-13:00  \n#end", file);
    fflush(file);
    CHECK(schedule_read(name, &made, &failure) == 0);
    CHECK_EQUAL(made.count, 3);
    CHECK_EQUAL(schedule_open_until(&made, AT(10, 1)), AT(10, 12));
    schedule_free(&made);
    fputs("\nfirst of May\n", file);
    fclose(file);
    CHECK(schedule_read(name, &made, &failure) != 0);
    snprintf(wanted, sizeof wanted, "--schedule %s: line 6, column 1: expected a window", name);
    CHECK(strncmp(failure.text, wanted, strlen(wanted)) == 0);
    unlink(name);
    failure = (netblt_failure){0};
    CHECK(schedule_read(name, &made, &failure) != 0);
    CHECK(strstr(failure.text, "No such file or directory") != NULL);
    failure = (netblt_failure){0};
    CHECK(schedule_read("/dev/zero", &made, &failure) != 0);
    CHECK(strstr(failure.text, "longer than 2 MiB") != NULL);
    failure = (netblt_failure){0};
    CHECK(schedule_read("10:00-10:12", &made, &failure) == 0);
    schedule_free(&made);
}

static void very_many_windows_are_refused_and_many_are_quick(void)
{
    size_t capacity = 20 * (SCHEDULE_WINDOWS_MAX + 1) + 1;
    char *text = malloc(capacity);
    size_t used = 0;
    netblt_failure failure = {0};
    schedule made;
    CHECK(text != NULL);
    for (unsigned i = 0; i < SCHEDULE_WINDOWS_MAX; i++)
        used += (size_t)snprintf(text + used, capacity - used, "%02u:%02u:%02u+%us\n", i * 8 / 3600, i * 8 / 60 % 60,
                                 i * 8 % 60, i % 2 == 0 ? 8 : 7);
    CHECK(schedule_parse(text, "x", &made, &failure) == 0);
    CHECK_EQUAL(made.count, SCHEDULE_WINDOWS_MAX / 2);
    CHECK_EQUAL(schedule_open_until(&made, MIDNIGHT), MIDNIGHT + 15);
    CHECK_EQUAL(schedule_next_opening(&made, MIDNIGHT + 15), MIDNIGHT + 16);
    schedule_free(&made);
    snprintf(text + used, capacity - used, "10:00-10:12");
    CHECK(schedule_parse(text, "x", &made, &failure) != 0);
    CHECK(strcmp(failure.text, "x: line 10001, column 1: too many windows; at most 10000 are allowed") == 0);
    free(text);
}

int main(void)
{
    RUN(the_day_of_these_tests_is_what_it_seems);
    RUN(a_window_holds_its_first_moment_and_not_its_last);
    RUN(a_daily_window_comes_each_day);
    RUN(a_daily_window_may_pass_midnight);
    RUN(windows_that_meet_are_one);
    RUN(windows_may_cover_all_the_time);
    RUN(lengths_have_units);
    RUN(dates_are_those_of_the_calendar);
    RUN(what_is_wrong_is_named_with_its_place);
    RUN(every_part_of_a_text_is_a_schedule_or_an_error);
    RUN(a_file_has_windows_in_its_lines_and_comments);
    RUN(very_many_windows_are_refused_and_many_are_quick);
    return 0;
}
