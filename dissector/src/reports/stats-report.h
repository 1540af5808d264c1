/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reports about connections as tables, written as text, as JSON, or into a dialog: what is in them is stated once, in
 * the stats-*.c file of each report. */
#ifndef NETBLT_STATS_REPORT_H
#define NETBLT_STATS_REPORT_H

#include "reports/stats-history.h"

enum nb_cell_kind {
    NB_CELL_NONE,    /* does not apply */
    NB_CELL_UNKNOWN, /* cannot be known from this capture */
    NB_CELL_UINT,
    NB_CELL_REAL,
    NB_CELL_TEXT, /* `text` allocated with g_malloc; the caller that requested the cell frees it */
    NB_CELL_LIST, /* as above; numbers with spaces between, an array in JSON */
};

struct nb_cell {
    enum nb_cell_kind kind;
    bool estimate; /* inferred: the capture cannot show it exactly */
    uint64_t number;
    double real;
    char *text;
};

enum nb_column_style {
    NB_RIGHT, /* numbers */
    NB_LEFT,
    NB_CONSTANT, /* text that is the same for every connection: as lines, printed once */
    NB_FINAL,    /* numbers that are right at the end only: not in dialogs, which draw at any time */
};

struct nb_column {
    const char *title; /* over the column; NULL: not shown there */
    const char *key;   /* in JSON; NULL: not shown there */
    int decimals;      /* of NB_CELL_REAL */
    enum nb_column_style style;
};

/* One kind of row. `count` rows per connection; `row` fills one cell per column. */
struct nb_table {
    const char *key; /* in JSON: name of the list; NULL: one row per connection, its keys go into the connection */
    const char *title;
    const struct nb_column *columns;
    size_t n_columns;
    guint (*count)(struct nb_history *history);
    void (*row)(const struct nb_history *history, guint i, struct nb_cell *cells); /* after `count` */
    bool (*says_something)(const struct nb_history *history, guint i); /* else as lines it is left out; NULL: all do */
};

enum { NB_TABLE_COLUMNS_MAX = 24 };

struct nb_report {
    const char *name; /* -z netblt,NAME */
    const char *title;
    const char *notes; /* below the text: how to read it; ends in a newline */
    const struct nb_table *const *tables;
    size_t n_tables;
};

extern const struct nb_report nb_report_summary, nb_report_buffers, nb_report_redundancy, nb_report_verdict;
extern const struct nb_table nb_table_summary, nb_table_buffers, nb_table_messages;

/* The row of one buffer or message of the connection. */
void nb_buffer_row(const struct nb_buffer_life *buffer, struct nb_cell *cells);
void nb_message_row(const struct nb_stream *stream, const struct nb_message_life *message, struct nb_cell *cells);

extern const char *const nb_conclusion_names[]; /* of enum nb_conclusion */

/* The result of a rule for a connection, with what the packets of the listener show. */
struct nb_standing nb_history_standing(const struct nb_history *history, guint rule);

struct nb_cell nb_cell_none(void);
struct nb_cell nb_cell_unknown(void);
struct nb_cell nb_cell_uint(uint64_t number);
struct nb_cell nb_cell_real(double real);
struct nb_cell nb_cell_text(const char *text); /* copies */
struct nb_cell nb_cell_frame(nb_moment when);  /* none when it never was */
struct nb_cell nb_cell_time(nb_moment when);   /* seconds since the first frame of the file */
/* From one moment to a later one in ms; none when either never was. */
struct nb_cell nb_cell_span(nb_moment from, nb_moment until);
struct nb_cell nb_cell_estimate(struct nb_cell cell);

/* As it is shown to people. To be freed with g_free. */
char *nb_cell_show(const struct nb_cell *cell, const struct nb_column *column);

void nb_cells_free(struct nb_cell *cells, size_t count);

/* To standard output. */
void nb_report_text(const struct nb_report *report, const struct nb_histories *all, const char *filter);
void nb_report_json(const struct nb_report *report, const struct nb_histories *all, const char *filter);

/* As JSON, one line for each connection, for programs that read captures of very many: the first line is about the
 * report and holds what is the same for all of them, rows without content are left out. */
void nb_report_lines(const struct nb_report *report, const struct nb_histories *all, const char *filter);

/* Appends `text` as a JSON string, quotes included; what is not UTF-8 becomes U+FFFD, and what would steer a terminal
 * an escape. */
void nb_json_string(GString *out, const char *text);

#endif
