/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Prints reports about connections as text and as JSON. */
#include "reports/stats-report.h"

#include <math.h>
#include <stdio.h>

struct nb_cell nb_cell_none(void)
{
    return (struct nb_cell){.kind = NB_CELL_NONE};
}

struct nb_cell nb_cell_unknown(void)
{
    return (struct nb_cell){.kind = NB_CELL_UNKNOWN};
}

struct nb_cell nb_cell_uint(uint64_t number)
{
    return (struct nb_cell){.kind = NB_CELL_UINT, .number = number};
}

struct nb_cell nb_cell_real(double real)
{
    return isfinite(real) ? (struct nb_cell){.kind = NB_CELL_REAL, .real = real} : nb_cell_unknown();
}

struct nb_cell nb_cell_text(const char *text)
{
    return (struct nb_cell){.kind = NB_CELL_TEXT, .text = g_strdup(text)};
}

struct nb_cell nb_cell_frame(nb_moment when)
{
    return when == 0 ? nb_cell_none() : nb_cell_uint(nb_frame_of(when));
}

struct nb_cell nb_cell_time(nb_moment when)
{
    return when == 0 ? nb_cell_none() : nb_cell_real(nb_seconds(nb_time_of(when)));
}

struct nb_cell nb_cell_span(nb_moment from, nb_moment until)
{
    if (from == 0 || until == 0) {
        return nb_cell_none();
    }
    return nb_cell_real((nb_seconds(nb_time_of(until)) - nb_seconds(nb_time_of(from))) * 1000);
}

struct nb_cell nb_cell_estimate(struct nb_cell cell)
{
    cell.estimate = true;
    return cell;
}

void nb_cells_free(struct nb_cell *cells, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        g_free(cells[i].text);
        cells[i].text = NULL;
    }
}

char *nb_cell_show(const struct nb_cell *cell, const struct nb_column *column)
{
    const char *mark = cell->estimate ? "~" : "";

    switch (cell->kind) {
    case NB_CELL_UNKNOWN:
        return g_strdup("?");
    case NB_CELL_UINT:
        return g_strdup_printf("%s%" G_GUINT64_FORMAT, mark, cell->number);
    case NB_CELL_REAL:
        return g_strdup_printf("%s%.*f", mark, column->decimals, cell->real);
    case NB_CELL_TEXT:
    case NB_CELL_LIST:
        return g_strdup_printf("%s%s", mark, cell->text);
    default:
        return g_strdup("-");
    }
}

/* The cells of a table as text, row after row, the titles first. */
struct grid {
    const struct nb_table *table;
    GPtrArray *texts;
    size_t columns; /* those with a title, which come first */
    size_t width[NB_TABLE_COLUMNS_MAX];
};

static void grid_add(struct grid *grid, size_t column, char *text)
{
    grid->width[column] = MAX(grid->width[column], (size_t)g_utf8_strlen(text, -1));
    g_ptr_array_add(grid->texts, text);
}

static struct grid grid_new(const struct nb_table *table)
{
    struct grid grid = {.table = table, .texts = g_ptr_array_new_with_free_func(g_free)};

    for (size_t i = 0; i < table->n_columns; i++) {
        if (table->columns[i].title != NULL) {
            grid_add(&grid, grid.columns++, g_strdup(table->columns[i].title));
        }
    }
    return grid;
}

static void grid_rows(struct grid *grid, struct nb_history *history)
{
    const struct nb_table *table = grid->table;
    struct nb_cell cells[NB_TABLE_COLUMNS_MAX];

    for (guint i = 0, rows = table->count(history); i < rows; i++) {
        memset(cells, 0, sizeof(cells));
        table->row(history, i, cells);
        for (size_t n = 0; n < grid->columns; n++) {
            grid_add(grid, n, nb_cell_show(&cells[n], &table->columns[n]));
        }
        nb_cells_free(cells, table->n_columns);
    }
}

/* Ends the grid. */
static void grid_print(struct grid *grid)
{
    const size_t columns = grid->columns;

    for (guint i = 0; i < grid->texts->len; i++) {
        const char *text = g_ptr_array_index(grid->texts, i);
        const size_t column = columns == 0 ? 0 : i % columns;
        const size_t fill = grid->width[column] - (size_t)g_utf8_strlen(text, -1);
        const bool last = column == columns - 1;
        const enum nb_column_style style = grid->table->columns[column].style;
        if (style == NB_LEFT || style == NB_CONSTANT) {
            printf("%s%*s", text, last ? 0 : (int)fill, "");
        } else {
            printf("%*s%s", (int)fill, "", text);
        }
        fputs(last ? "\n" : "  ", stdout);
    }
    g_ptr_array_free(grid->texts, TRUE);
}

static void print_connection(const struct nb_report *report, struct nb_history *history)
{
    const struct nb_stream *stream = history->stream;
    char *source = nb_stream_end_text(stream, stream->sender >= 0 ? stream->sender : 0);
    char *target = nb_stream_end_text(stream, stream->sender >= 0 ? 1 - stream->sender : 1);

    printf("\nStream %u: %s %s %s\n", history->stream->index, source, stream->sender >= 0 ? "->" : "<->", target);
    g_free(source);
    g_free(target);
    for (size_t i = 0; i < report->n_tables; i++) {
        struct grid grid = grid_new(report->tables[i]);
        if (report->tables[i]->title != NULL) {
            printf("%s\n", report->tables[i]->title);
        }
        grid_rows(&grid, history);
        grid_print(&grid);
    }
}

static void print_limit(struct nb_history *history)
{
    char *limit = nb_history_limit(history);

    if (limit != NULL) {
        printf("Stream %u: %s.\n", history->stream->index, limit);
        g_free(limit);
    }
}

void nb_report_text(const struct nb_report *report, const struct nb_histories *all, const char *filter)
{
    printf("\n===================================================================\n%s\n", report->title);
    if (filter != NULL) {
        printf("Filter: %s\n", filter);
    }
    if (all->list->len == 0) {
        puts("No NETBLT connection was captured.");
    } else if (report->tables[0]->key == NULL) {
        struct grid grid = grid_new(report->tables[0]);
        for (guint i = 0; i < all->list->len; i++) {
            grid_rows(&grid, g_ptr_array_index(all->list, i));
        }
        grid_print(&grid);
    } else {
        for (guint i = 0; i < all->list->len; i++) {
            print_connection(report, g_ptr_array_index(all->list, i));
        }
    }
    for (guint i = 0; i < all->list->len; i++) {
        print_limit(g_ptr_array_index(all->list, i));
    }
    printf("%s===================================================================\n", report->notes);
}

/* What steers a terminal, or makes text read as something else: control characters, marks of direction, what has no
 * width, ends of lines. */
static bool is_harmful(gunichar c)
{
    return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x061c || (c >= 0x200b && c <= 0x200f) ||
           (c >= 0x2028 && c <= 0x202e) || (c >= 0x2060 && c <= 0x206f) || c == 0xfeff;
}

void nb_json_string(GString *out, const char *text)
{
    char *valid = g_utf8_make_valid(text, -1);

    g_string_append_c(out, '"');
    for (const char *p = valid; *p; p = g_utf8_next_char(p)) {
        const gunichar c = g_utf8_get_char(p);
        if (c == '"' || c == '\\') {
            g_string_append_c(out, '\\');
        }
        if (is_harmful(c)) {
            g_string_append_printf(out, "\\u%04x", c);
        } else {
            g_string_append_unichar(out, c);
        }
    }
    g_string_append_c(out, '"');
    g_free(valid);
}

static void json_list(GString *out, const char *text)
{
    char **parts = g_strsplit(text, " ", -1);
    char *joined = g_strjoinv(", ", parts);

    g_string_append_printf(out, "[%s]", joined);
    g_free(joined);
    g_strfreev(parts);
}

static void json_cell(GString *out, const struct nb_cell *cell)
{
    char number[G_ASCII_DTOSTR_BUF_SIZE];

    switch (cell->kind) {
    case NB_CELL_UINT:
        g_string_append_printf(out, "%" G_GUINT64_FORMAT, cell->number);
        break;
    case NB_CELL_REAL:
        g_string_append(out, g_ascii_formatd(number, sizeof(number), "%.9g", cell->real));
        break;
    case NB_CELL_TEXT:
        nb_json_string(out, cell->text);
        break;
    case NB_CELL_LIST:
        json_list(out, cell->text);
        break;
    default:
        g_string_append(out, "null");
        break;
    }
}

/* How rows are written. */
enum layout {
    WHOLE,    /* every column, and which of them are no certain knowledge */
    CHANGING, /* without what is the same for every connection */
    CONSTANT, /* that, and the column that names the row */
};

static bool is_constant(const struct nb_table *table, size_t column)
{
    return table->columns[column].style == NB_CONSTANT;
}

static bool is_wanted(const struct nb_table *table, size_t column, enum layout layout)
{
    return table->columns[column].key != NULL &&
           (layout == WHOLE ||
            (layout == CHANGING ? !is_constant(table, column) : column == 0 || is_constant(table, column)));
}

static bool is_estimate(const struct nb_cell *cell)
{
    return cell->estimate;
}

static bool is_unknown(const struct nb_cell *cell)
{
    return cell->kind == NB_CELL_UNKNOWN;
}

/* The keys of the cells that are so; as lines, nothing when none is. */
static void json_keys(GString *out, const struct nb_table *table, const struct nb_cell *cells, enum layout layout,
                      const char *name, bool (*is_so)(const struct nb_cell *))
{
    const gsize begin = out->len;
    const char *comma = "";

    g_string_append_printf(out, ", \"%s\": [", name);
    for (size_t n = 0; n < table->n_columns; n++) {
        if (is_so(&cells[n]) && is_wanted(table, n, layout)) {
            g_string_append_printf(out, "%s\"%s\"", comma, table->columns[n].key);
            comma = ", ";
        }
    }
    g_string_append_c(out, ']');
    if (layout != WHOLE && *comma == '\0') {
        g_string_truncate(out, begin);
    }
}

/* As lines, a row of many holds neither null nor 0. */
static bool says_nothing(const struct nb_table *table, const struct nb_cell *cell)
{
    return table->says_something != NULL &&
           (cell->kind == NB_CELL_NONE || (cell->kind == NB_CELL_UINT && cell->number == 0));
}

/* "key": value, ... without braces. */
static void json_row(GString *out, const struct nb_table *table, struct nb_history *history, guint i,
                     enum layout layout)
{
    struct nb_cell cells[NB_TABLE_COLUMNS_MAX] = {0};
    const char *comma = "";

    table->row(history, i, cells);
    for (size_t n = 0; n < table->n_columns; n++) {
        if (is_wanted(table, n, layout) && !(layout == CHANGING && says_nothing(table, &cells[n]))) {
            g_string_append_printf(out, "%s\"%s\": ", comma, table->columns[n].key);
            json_cell(out, &cells[n]);
            comma = ", ";
        }
    }
    json_keys(out, table, cells, layout, "estimates", is_estimate);
    json_keys(out, table, cells, layout, "unknown", is_unknown);
    nb_cells_free(cells, table->n_columns);
}

static void json_end(GString *out, const struct nb_stream *stream, const char *key, int end)
{
    char *text = nb_stream_end_text(stream, end);

    g_string_append_printf(out, "\"%s\": ", key);
    nb_json_string(out, text);
    g_free(text);
}

static void json_rows(GString *out, const struct nb_table *table, struct nb_history *history, enum layout layout)
{
    const char *between = layout == WHOLE ? ",\n    {" : ", {";
    bool first = true;

    for (guint n = 0, rows = table->count(history); n < rows; n++) {
        if (layout == CHANGING && table->says_something != NULL && !table->says_something(history, n)) {
            continue;
        }
        g_string_append(out, between + (first ? (layout == WHOLE ? 1 : 2) : 0));
        json_row(out, table, history, n, layout);
        g_string_append_c(out, '}');
        first = false;
    }
}

/* {"stream": ...} */
static void json_connection(GString *out, const struct nb_report *report, struct nb_history *history,
                            enum layout layout)
{
    const struct nb_stream *stream = history->stream;

    g_string_append_printf(out, "{\"stream\": %u, \"ends\": {", history->stream->index);
    json_end(out, stream, stream->sender >= 0 ? "sender" : "a", stream->sender >= 0 ? stream->sender : 0);
    g_string_append(out, ", ");
    json_end(out, stream, stream->sender >= 0 ? "receiver" : "b", stream->sender >= 0 ? 1 - stream->sender : 1);
    g_string_append_c(out, '}');
    for (size_t i = 0; i < report->n_tables; i++) {
        const struct nb_table *table = report->tables[i];
        if (table->key == NULL) {
            g_string_append(out, ", ");
            json_row(out, table, history, 0, layout);
            continue;
        }
        g_string_append_printf(out, ", \"%s\": [", table->key);
        json_rows(out, table, history, layout);
        g_string_append_c(out, ']');
    }
    char *limit = nb_history_limit(history);
    if (limit != NULL) {
        g_string_append(out, ", \"limit\": ");
        nb_json_string(out, limit);
        g_free(limit);
    }
    g_string_append_c(out, '}');
}

/* {"report": NAME, "filter": ... */
static void json_begin(GString *out, const struct nb_report *report, const char *filter)
{
    g_string_append_printf(out, "{\"report\": \"%s\", \"filter\": ", report->name);
    if (filter != NULL) {
        nb_json_string(out, filter);
    } else {
        g_string_append(out, "null");
    }
}

/* The text is written and emptied: a report of many connections is never held as a whole. */
static void write_out(GString *out)
{
    fwrite(out->str, 1, out->len, stdout);
    g_string_truncate(out, 0);
}

void nb_report_json(const struct nb_report *report, const struct nb_histories *all, const char *filter)
{
    GString *out = g_string_new(NULL);

    json_begin(out, report, filter);
    g_string_append(out, ", \"connections\": [");
    for (guint i = 0; i < all->list->len; i++) {
        g_string_append(out, i > 0 ? ",\n  " : "\n  ");
        json_connection(out, report, g_ptr_array_index(all->list, i), WHOLE);
        write_out(out);
    }
    g_string_append(out, "\n]}\n");
    write_out(out);
    g_string_free(out, TRUE);
}

void nb_report_lines(const struct nb_report *report, const struct nb_histories *all, const char *filter)
{
    GString *out = g_string_new(NULL);

    json_begin(out, report, filter);
    for (size_t i = 0; i < report->n_tables && all->list->len > 0; i++) {
        const struct nb_table *table = report->tables[i];
        if (table->key != NULL && table->says_something != NULL) {
            g_string_append_printf(out, ", \"%s\": [", table->key);
            json_rows(out, table, g_ptr_array_index(all->list, 0), CONSTANT);
            g_string_append_c(out, ']');
        }
    }
    g_string_append(out, "}\n");
    for (guint i = 0; i < all->list->len; i++) {
        json_connection(out, report, g_ptr_array_index(all->list, i), CHANGING);
        g_string_append_c(out, '\n');
        write_out(out);
    }
    write_out(out);
    g_string_free(out, TRUE);
}
