/* SPDX-License-Identifier: BSD-2-Clause */
/* Lines on stderr, the progress line of a terminal, objects on stdout: see report.h. */
#include "cli/report/report.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/report/text.h"

#define REDRAW_INTERVAL_US 100000 /* ten times a second is as fast as one can read */
#define SMOOTHING_US 2000000.0    /* the rate shown is that of about the last two seconds */
#define BAR_CELLS_MAX 40
#define BAR_CELLS_MIN 5
#define COLUMNS_DEFAULT 80
#define LINE_BYTES 512
#define SECONDS_LEFT_MAX (99.0 * 3600)

static bool is_quiet;

/* The progress line. */
static struct {
    bool shown;
    bool drawn; /* it is on the screen now */
    netblt_time next_at;
    netblt_time sampled_at;
    uint64_t sampled_bytes;
    double bits_per_second; /* smoothed */
} bar;

void report_begin(const options *given)
{
    is_quiet = given->quiet;
    bar.shown = !is_quiet && isatty(STDERR_FILENO) == 1;
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

/* ---- the progress line ------------------------------------------------------------------------------------------ */

/* Exponential smoothing that does not depend on how often it is called. */
static void measure_rate(uint64_t bytes, netblt_time now)
{
    double elapsed_us = (double)(now - bar.sampled_at);
    double rate =
        bytes >= bar.sampled_bytes && elapsed_us > 0 ? (double)(bytes - bar.sampled_bytes) * 8e6 / elapsed_us : 0;
    double weight = elapsed_us / (elapsed_us + SMOOTHING_US);
    if (bar.sampled_at != 0)
        bar.bits_per_second = bar.bits_per_second == 0 ? rate : bar.bits_per_second * (1 - weight) + rate * weight;
    bar.sampled_at = now;
    bar.sampled_bytes = bytes;
}

static void format_time_left(const progress_view *view, char *to, size_t capacity)
{
    double left = view->total > view->bytes ? (double)(view->total - view->bytes) * 8 : 0;
    double seconds = bar.bits_per_second > 0 ? left / bar.bits_per_second : SECONDS_LEFT_MAX + 1;
    unsigned whole = (unsigned)(seconds + 0.5);
    if (seconds > SECONDS_LEFT_MAX)
        snprintf(to, capacity, "--:--");
    else if (whole >= 3600)
        snprintf(to, capacity, "%u:%02u:%02u", whole / 3600, whole / 60 % 60, whole % 60);
    else
        snprintf(to, capacity, "%u:%02u", whole / 60, whole % 60);
}

/* Fixed widths, so that the bar beside them stands still. */
static void format_figures(const progress_view *view, char *to, size_t capacity)
{
    char bytes[TEXT_AMOUNT_BYTES];
    char total[TEXT_AMOUNT_BYTES];
    char rate[TEXT_AMOUNT_BYTES];
    char left[32];
    text_bytes(view->bytes, bytes);
    text_rate(bar.bits_per_second, rate);
    if (view->total == 0) {
        snprintf(to, capacity, "%8s  %9s  %llu %s", bytes, rate, (unsigned long long)view->resent, view->resent_word);
        return;
    }
    format_time_left(view, left, sizeof left);
    snprintf(to, capacity, "%8s of %s  %9s  %7s left  %llu %s", bytes, text_bytes(view->total, total), rate, left,
             (unsigned long long)view->resent, view->resent_word);
}

/* "45% [====>    ]"; without the bar where it has no room. */
static void format_share(const progress_view *view, int room, char *to, size_t capacity)
{
    static const char full[] = "========================================>                                        ";
    double share = view->bytes >= view->total ? 1 : (double)view->bytes / (double)view->total;
    int cells = room < BAR_CELLS_MAX ? room : BAR_CELLS_MAX;
    if (view->total == 0)
        to[0] = '\0';
    else if (room < BAR_CELLS_MIN)
        snprintf(to, capacity, "%3u%% ", (unsigned)(share * 100));
    else
        snprintf(to, capacity, "%3u%% [%.*s]", (unsigned)(share * 100), cells,
                 full + BAR_CELLS_MAX - (int)(share * cells));
}

static void format_line(const progress_view *view, size_t columns, char line[LINE_BYTES])
{
    char figures[200];
    char share[BAR_CELLS_MAX + 16];
    char name[64];
    format_figures(view, figures, sizeof figures);
    text_printable(view->name, name, sizeof name);
    format_share(view, (int)columns - (int)(strlen(name) + strlen(figures)) - 11, share, sizeof share);
    snprintf(line, LINE_BYTES, "%s %s %s", name, share, figures);
    if (strlen(line) >= columns) /* a wrapped line cannot be drawn over */
        line[columns - 1] = '\0';
}

static size_t terminal_columns(void)
{
    struct winsize size;
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
        return COLUMNS_DEFAULT;
    return size.ws_col < LINE_BYTES ? size.ws_col : LINE_BYTES - 1;
}

netblt_time report_progress_next(void)
{
    return bar.shown ? bar.next_at : NETBLT_TIME_NEVER;
}

void report_progress(const progress_view *view, netblt_time now)
{
    char line[LINE_BYTES];
    if (!bar.shown || now < bar.next_at)
        return;
    measure_rate(view->bytes, now);
    format_line(view, terminal_columns(), line);
    fprintf(stderr, "\r%s\033[K", line);
    fflush(stderr);
    bar.drawn = true;
    bar.next_at = now + REDRAW_INTERVAL_US;
}

void report_progress_clear(void)
{
    if (!bar.drawn)
        return;
    fputs("\r\033[K", stderr);
    fflush(stderr);
    bar.drawn = false;
}
