/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/progress.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/text.h"

#define REDRAW_INTERVAL_US 100000 /* ten times a second is as fast as one can read */
#define SMOOTHING_US 2000000.0    /* the rate shown is that of about the last two seconds */
#define BAR_CELLS_MAX 40
#define BAR_CELLS_MIN 5
#define COLUMNS_DEFAULT 80
#define SECONDS_LEFT_MAX (99.0 * 3600)

void progress_init(progress *bar, bool quiet)
{
    *bar = (progress){.shown = !quiet && isatty(STDERR_FILENO) == 1};
}

netblt_time progress_next(const progress *bar)
{
    return bar->shown ? bar->next_at : NETBLT_TIME_NEVER;
}

/* Exponential smoothing that does not depend on how often it is called. */
static void measure_rate(progress *bar, uint64_t bytes, netblt_time now)
{
    double elapsed_us = (double)(now - bar->sampled_at);
    double rate =
        bytes >= bar->sampled_bytes && elapsed_us > 0 ? (double)(bytes - bar->sampled_bytes) * 8e6 / elapsed_us : 0;
    double weight = elapsed_us / (elapsed_us + SMOOTHING_US);

    if (bar->sampled_at != 0)
        bar->bits_per_second = bar->bits_per_second == 0 ? rate : bar->bits_per_second * (1 - weight) + rate * weight;
    bar->sampled_at = now;
    bar->sampled_bytes = bytes;
}

static void format_time_left(const progress *bar, const progress_view *view, char *to, size_t capacity)
{
    double left = view->total > view->bytes ? (double)(view->total - view->bytes) * 8 : 0;
    double seconds = bar->bits_per_second > 0 ? left / bar->bits_per_second : SECONDS_LEFT_MAX + 1;
    unsigned whole = (unsigned)(seconds + 0.5);

    if (seconds > SECONDS_LEFT_MAX)
        snprintf(to, capacity, "--:--");
    else if (whole >= 3600)
        snprintf(to, capacity, "%u:%02u:%02u", whole / 3600, whole / 60 % 60, whole % 60);
    else
        snprintf(to, capacity, "%u:%02u", whole / 60, whole % 60);
}

static void format_bar(const progress_view *view, unsigned cells, char *to)
{
    unsigned full = view->bytes >= view->total ? cells : (unsigned)((double)view->bytes / (double)view->total * cells);

    *to++ = '[';
    memset(to, ' ', cells);
    memset(to, '=', full);
    if (full < cells)
        to[full] = '>';
    to += cells;
    *to++ = ']';
    *to = '\0';
}

/* Fixed widths, so that the bar beside them stands still. */
static void format_figures(const progress *bar, const progress_view *view, char *to, size_t capacity)
{
    char bytes[TEXT_AMOUNT_BYTES];
    char total[TEXT_AMOUNT_BYTES];
    char rate[TEXT_AMOUNT_BYTES];
    char left[32];

    text_bytes(view->bytes, bytes);
    text_rate(bar->bits_per_second, rate);
    if (view->total == 0) {
        snprintf(to, capacity, "%8s  %9s  %llu %s", bytes, rate, (unsigned long long)view->resent, view->resent_word);
        return;
    }
    format_time_left(bar, view, left, sizeof left);
    snprintf(to, capacity, "%8s of %s  %9s  %7s left  %llu %s", bytes, text_bytes(view->total, total), rate, left,
             (unsigned long long)view->resent, view->resent_word);
}

void progress_format(const progress *bar, const progress_view *view, unsigned columns, char line[PROGRESS_LINE_BYTES])
{
    char figures[200];
    char cells[BAR_CELLS_MAX + 3] = "";
    char name[64];
    char percent[16] = "";
    int room;

    format_figures(bar, view, figures, sizeof figures);
    text_printable(view->name, name, sizeof name);
    if (view->total > 0) {
        double share = view->bytes >= view->total ? 1 : (double)view->bytes / (double)view->total;

        snprintf(percent, sizeof percent, "%3u%% ", (unsigned)(share * 100));
        room = (int)columns - (int)(strlen(name) + strlen(percent) + strlen(figures)) - 6;
        if (room >= BAR_CELLS_MIN)
            format_bar(view, (unsigned)(room < BAR_CELLS_MAX ? room : BAR_CELLS_MAX), cells);
    }
    snprintf(line, PROGRESS_LINE_BYTES, "%s %s%s %s", name, percent, cells, figures);
    if (strlen(line) >= columns) /* a wrapped line cannot be drawn over */
        line[columns > 0 ? columns - 1 : 0] = '\0';
}

static unsigned terminal_columns(void)
{
    struct winsize size;

    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
        return COLUMNS_DEFAULT;
    return size.ws_col < PROGRESS_LINE_BYTES ? size.ws_col : PROGRESS_LINE_BYTES - 1;
}

void progress_update(progress *bar, const progress_view *view, netblt_time now)
{
    char line[PROGRESS_LINE_BYTES];

    if (!bar->shown || now < bar->next_at)
        return;
    measure_rate(bar, view->bytes, now);
    progress_format(bar, view, terminal_columns(), line);
    fprintf(stderr, "\r%s\033[K", line);
    fflush(stderr);
    bar->drawn = true;
    bar->next_at = now + REDRAW_INTERVAL_US;
}

void progress_clear(progress *bar)
{
    if (!bar->drawn)
        return;
    fputs("\r\033[K", stderr);
    fflush(stderr);
    bar->drawn = false;
}
