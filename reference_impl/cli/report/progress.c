/* SPDX-License-Identifier: BSD-2-Clause */
/* The state of a transfer as a line and as a JSON object: see progress.h. */
#include "cli/report/progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/report/cells.h"
#include "cli/report/text.h"

#define SMOOTHING_US 2000000.0 /* the rate shown is that of about the last two seconds */
#define SECONDS_LEFT_MAX (99.0 * 3600)
#define NAME_CELLS_MIN 8 /* fewer letters of a name are no help */
#define BAR_CELLS_MIN 7  /* with its brackets */

/* ---- the rate --------------------------------------------------------------------------------------------------- */

/* Exponential smoothing that does not depend on how often it is called. */
progress_interval progress_measure(progress_meter *meter, uint64_t bytes, netblt_time now)
{
    bool first = meter->sampled_at == 0;
    double elapsed_us = first || now <= meter->sampled_at ? 0 : (double)(now - meter->sampled_at);
    progress_interval passed = {.seconds = elapsed_us / 1e6,
                                .bytes = first || bytes < meter->sampled_bytes ? 0 : bytes - meter->sampled_bytes};
    double rate = elapsed_us > 0 ? (double)passed.bytes * 8e6 / elapsed_us : 0;
    double weight = elapsed_us / (elapsed_us + SMOOTHING_US);
    if (!first)
        meter->bits_per_second =
            meter->bits_per_second == 0 ? rate : meter->bits_per_second * (1 - weight) + rate * weight;
    meter->sampled_at = now;
    meter->sampled_bytes = bytes;
    return passed;
}

double progress_seconds_left(const progress_view *view, double bits_per_second)
{
    double left = view->total > view->bytes ? (double)(view->total - view->bytes) * 8 : 0;
    double seconds = bits_per_second > 0 ? left / bits_per_second : -1;
    return view->total == 0 || seconds > SECONDS_LEFT_MAX ? -1 : seconds;
}

/* ---- the line --------------------------------------------------------------------------------------------------- */

/* From left to right. */
enum part { COUNT, NAME, SHARE, BAR, BYTES, TOTAL, RATE, LEFT, RETRANSMITTED, PARTS };

/* As the terminal becomes narrower, the last of these goes first. */
static const enum part by_importance[PARTS] = {SHARE, RATE, LEFT, NAME, BYTES, COUNT, BAR, RETRANSMITTED, TOTAL};

typedef struct line_parts {
    char text[PARTS][64]; /* name and bar have theirs elsewhere */
    size_t cells[PARTS];  /* that the part takes; 0: it is not there */
} line_parts;

static void format_time_left(const progress_view *view, double bits_per_second, char *to, size_t capacity)
{
    double seconds = progress_seconds_left(view, bits_per_second);
    unsigned whole = seconds < 0 ? 0 : (unsigned)(seconds + 0.5);
    if (seconds < 0)
        snprintf(to, capacity, "--:-- left");
    else if (whole >= 3600)
        snprintf(to, capacity, "%u:%02u:%02u left", whole / 3600, whole / 60 % 60, whole % 60);
    else
        snprintf(to, capacity, "%2u:%02u left", whole / 60, whole % 60);
}

static double share_of(const progress_view *view)
{
    return view->bytes >= view->total ? 1 : (double)view->bytes / (double)view->total;
}

/* Fixed widths, so that the bar beside them stays where it is. */
static void format_parts(const progress_view *view, double bits_per_second, line_parts *parts)
{
    size_t capacity = sizeof parts->text[0];
    char amount[TEXT_AMOUNT_BYTES];
    char files[24] = "?";
    snprintf(parts->text[BYTES], capacity, "%8s", text_bytes(view->bytes, amount));
    snprintf(parts->text[RATE], capacity, "%9s", text_rate(bits_per_second, amount));
    snprintf(parts->text[RETRANSMITTED], capacity, "%" PRIu64 " %s", view->retransmitted,
             view->role == NETBLT_SENDER ? "retransmitted" : "RESENDs");
    if (view->files != 0)
        snprintf(files, sizeof files, "%" PRIu64, view->files);
    if (view->file_number != 0)
        snprintf(parts->text[COUNT], capacity, "%*" PRIu64 "/%s", (int)strlen(files), view->file_number, files);
    if (view->total == 0)
        return;
    snprintf(parts->text[SHARE], capacity, "%3u%%", (unsigned)(share_of(view) * 100));
    snprintf(parts->text[TOTAL], capacity, "of %s", text_bytes(view->total, amount));
    format_time_left(view, bits_per_second, parts->text[LEFT], capacity);
}

/* Keeps the parts that have room, and shares out what remains: a name may take a third of the line, the rest is the
 * bar's. */
static void choose_parts(line_parts *parts, size_t name_cells, bool has_bar, size_t room)
{
    size_t wanted[PARTS];
    size_t spare = room + 1; /* the first part has no space before it */
    for (int i = 0; i < PARTS; i++)
        wanted[i] = strlen(parts->text[i]); /* ASCII */
    wanted[NAME] = name_cells < NAME_CELLS_MIN ? name_cells : NAME_CELLS_MIN;
    wanted[BAR] = has_bar ? BAR_CELLS_MIN : 0;
    for (int i = 0; i < PARTS; i++) {
        enum part part = by_importance[i];
        bool fits = wanted[part] > 0 && wanted[part] < spare;
        parts->cells[part] = fits ? wanted[part] : 0;
        spare -= fits ? wanted[part] + 1 : 0;
    }
    if (parts->cells[NAME] > 0) {
        size_t most = parts->cells[BAR] > 0 && name_cells > room / 3 ? room / 3 : name_cells;
        size_t more = most > parts->cells[NAME] ? most - parts->cells[NAME] : 0;
        more = more < spare ? more : spare;
        parts->cells[NAME] += more;
        spare -= more;
    }
    if (parts->cells[BAR] > 0)
        parts->cells[BAR] += spare;
}

/* "[====>    ]" */
static size_t draw_bar(double share, size_t cells, char *to)
{
    size_t inside = cells - 2;
    size_t done = (size_t)(share * (double)inside);
    to[0] = '[';
    memset(to + 1, '=', done);
    memset(to + 1 + done, ' ', inside - done);
    if (done < inside)
        to[1 + done] = '>';
    to[1 + inside] = ']';
    return cells;
}

void progress_line(const progress_view *view, double bits_per_second, size_t columns, char line[PROGRESS_LINE_BYTES])
{
    char name[PROGRESS_LINE_BYTES / 2];
    line_parts parts = {0};
    size_t used = 0;
    text_printable(view->name, name, sizeof name);
    format_parts(view, bits_per_second, &parts);
    if (columns > PROGRESS_COLUMNS_MAX)
        columns = PROGRESS_COLUMNS_MAX;
    choose_parts(&parts, cells_of(name), view->total > 0, columns > 0 ? columns - 1 : 0);
    for (int i = 0; i < PARTS; i++) {
        if (parts.cells[i] == 0)
            continue;
        if (used > 0)
            line[used++] = ' ';
        if (i == BAR) {
            used += draw_bar(share_of(view), parts.cells[i], line + used);
            continue;
        }
        cells_cut(i == NAME ? name : parts.text[i], parts.cells[i], line + used, sizeof name);
        used += strlen(line + used);
    }
    line[used] = '\0';
}

/* ---- the object ------------------------------------------------------------------------------------------------- */

json_t *progress_object(const progress_view *view, const progress_meter *meter, const progress_interval *interval)
{
    double left = progress_seconds_left(view, meter->bits_per_second);
    bool sends = view->role == NETBLT_SENDER;
    bool several = view->file_number != 0;
    json_t *object = json_pack(
        "{s:s, s:s, s:o, s:f, s:I, s:o, s:f, s:I, s:f, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "type", "progress", "role",
        text_role(view->role), "file", json_text(view->name), "seconds",
        meter->sampled_at > view->started_at ? (double)(meter->sampled_at - view->started_at) / 1e6 : 0.0, "bytes",
        JSON_WHOLE(view->bytes), "total_bytes", json_known(view->total != 0, view->total), "interval_seconds",
        interval->seconds, "interval_bytes", JSON_WHOLE(interval->bytes), "interval_bps",
        interval->seconds > 0 ? (double)interval->bytes * 8 / interval->seconds : 0.0, "seconds_left",
        left < 0 ? json_null() : json_real(left), "packets_retransmitted", json_known(sends, view->retransmitted),
        "resends_sent", json_known(!sends, view->retransmitted), "file_number", json_known(several, view->file_number),
        "files", json_known(several && view->files != 0, view->files), "file_bytes",
        json_known(several, view->file_bytes), "file_total_bytes",
        json_known(several && view->file_total != 0, view->file_total));
    if (view->peer != NULL)
        json_object_set_new(object, "peer", json_text(view->peer));
    return object;
}
