/* SPDX-License-Identifier: BSD-2-Clause */
/* Lines on stderr, the progress line of a terminal, objects on stdout: see report.h. */
#include "cli/report/report.h"

#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/report/cells.h"
#include "cli/report/text.h"

#define REDRAW_INTERVAL_US 100000 /* ten times a second is as fast as one can read */
#define OBJECT_INTERVAL_US 1000000
#define COLUMNS_DEFAULT 80

static bool is_quiet;

/* The progress line. */
static struct {
    bool shown;
    bool drawn; /* it is on the screen now */
    netblt_time next_at;
    progress_meter meter;
} bar;

/* The objects of --json-progress. */
static struct {
    bool printed;
    netblt_time next_at;
    progress_meter meter;
} objects;

/* A terminal that cannot clear a line would get a new one ten times a second. */
static bool can_be_drawn_over(int fd)
{
    const char *terminal = getenv("TERM");
    return isatty(fd) == 1 && (terminal == NULL || strcmp(terminal, "dumb") != 0);
}

void report_begin(const options *given)
{
    is_quiet = given->quiet;
    bar.shown = !is_quiet && can_be_drawn_over(STDERR_FILENO);
    objects.printed = given->json_progress;
    cells_begin();
}

/* ---- lines ------------------------------------------------------------------------------------------------------ */

static void print_line(const char *format, va_list arguments)
{
    report_progress_clear();
    fputs("netblt: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
}

void report_error(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    print_line(format, arguments);
    va_end(arguments);
}

void report_note(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (!is_quiet)
        print_line(format, arguments);
    va_end(arguments);
}

bool report_flush(void)
{
    return fflush(stdout) == 0 && ferror(stdout) == 0;
}

bool report_object(json_t *object)
{
    json_print(stdout, object);
    putchar('\n');
    return report_flush();
}

/* ---- progress --------------------------------------------------------------------------------------------------- */

/* It may change at any time, so it is read each time: the terminal's own, else what the environment states. */
static size_t terminal_columns(void)
{
    const char *stated = getenv("COLUMNS");
    long columns = stated != NULL ? strtol(stated, NULL, 10) : 0;
    struct winsize size;
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return size.ws_col;
    return columns > 0 ? (size_t)columns : COLUMNS_DEFAULT;
}

static void draw(const progress_view *view, netblt_time now)
{
    char line[PROGRESS_LINE_BYTES];
    (void)progress_measure(&bar.meter, view->bytes, now);
    progress_line(view, bar.meter.bits_per_second, terminal_columns(), line);
    fprintf(stderr, "\r%s\033[K", line);
    fflush(stderr);
    bar.drawn = true;
    bar.next_at = now + REDRAW_INTERVAL_US;
}

/* The first look begins the first second. */
static void print_object(const progress_view *view, netblt_time now)
{
    bool first = objects.next_at == 0;
    if (first || report_has_room()) {
        progress_interval interval = progress_measure(&objects.meter, view->bytes, now);
        if (!first)
            report_object(progress_object(view, &objects.meter, &interval));
    }
    objects.next_at = report_progress_due(objects.next_at, now);
}

netblt_time report_progress_due(netblt_time due, netblt_time now)
{
    return due != 0 && now - due < OBJECT_INTERVAL_US ? due + OBJECT_INTERVAL_US : now + OBJECT_INTERVAL_US;
}

bool report_has_room(void)
{
    struct pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT};
    return poll(&out, 1, 0) != 0;
}

netblt_time report_progress_next(void)
{
    netblt_time line_at = bar.shown ? bar.next_at : NETBLT_TIME_NEVER;
    netblt_time object_at = objects.printed ? objects.next_at : NETBLT_TIME_NEVER;
    return line_at < object_at ? line_at : object_at;
}

void report_progress(const progress_view *view, netblt_time now)
{
    if (bar.shown && now >= bar.next_at)
        draw(view, now);
    if (objects.printed && now >= objects.next_at)
        print_object(view, now);
}

void report_progress_clear(void)
{
    if (!bar.drawn)
        return;
    fputs("\r\033[K", stderr);
    fflush(stderr);
    bar.drawn = false;
}
