/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The life of each buffer: GO, first DATA, LDATA, RESENDs, OK, with frames and times. */
#include "reports/stats-report.h"

static const struct nb_column columns[] = {
    {"BUFFER", "buffer", 0, NB_RIGHT},
    {"GO", "go", 6, NB_RIGHT},
    {"DATA", "first_data", 6, NB_RIGHT},
    {"LDATA", "ldata", 6, NB_RIGHT},
    {"RESENDS", "resends", 0, NB_RIGHT},
    {"FIRST", "first_resend", 6, NB_RIGHT},
    {"LAST", "last_resend", 6, NB_RIGHT},
    {"OK", "ok", 6, NB_RIGHT},
    {"GO-DATA ms", "go_to_data_ms", 3, NB_RIGHT},
    {"GO-OK ms", "go_to_ok_ms", 3, NB_RIGHT},
    {"PACKETS", "packets", 0, NB_RIGHT},
    {"BYTES", "bytes", 0, NB_RIGHT},
    {"RXM", "retransmitted", 0, NB_RIGHT},
    {"GO#", "go_frame", 0, NB_RIGHT},
    {"DATA#", "first_data_frame", 0, NB_RIGHT},
    {"LDATA#", "ldata_frame", 0, NB_RIGHT},
    {"RESEND#", "first_resend_frame", 0, NB_RIGHT},
    {"OK#", "ok_frame", 0, NB_RIGHT},
};

static guint count(struct nb_history *history)
{
    return nb_history_buffers(history)->len;
}

void nb_buffer_row(const struct nb_buffer_life *buffer, struct nb_cell *cells)
{
    static const struct nb_requests none;
    const struct nb_requests *requests = buffer->requests == NULL ? &none : buffer->requests;
    struct nb_cell *cell = cells;

    *cell++ = nb_cell_uint(buffer->number);
    *cell++ = nb_cell_time(buffer->go);
    *cell++ = nb_cell_time(buffer->first_data);
    *cell++ = nb_cell_time(buffer->ldata);
    *cell++ = nb_cell_uint(requests->count);
    *cell++ = nb_cell_time(requests->first);
    *cell++ = nb_cell_time(requests->last);
    *cell++ = nb_cell_time(buffer->ok);
    *cell++ = nb_cell_span(buffer->go, buffer->first_data);
    *cell++ = nb_cell_span(buffer->go, buffer->ok);
    *cell++ = nb_cell_uint(buffer->packets);
    *cell++ = nb_cell_uint(buffer->bytes);
    *cell++ = nb_cell_uint(buffer->retransmitted);
    *cell++ = nb_cell_frame(buffer->go);
    *cell++ = nb_cell_frame(buffer->first_data);
    *cell++ = nb_cell_frame(buffer->ldata);
    *cell++ = nb_cell_frame(requests->first);
    *cell++ = nb_cell_frame(buffer->ok);
}

static void row(const struct nb_history *history, guint i, struct nb_cell *cells)
{
    nb_buffer_row(g_ptr_array_index(history->buffers, i), cells);
}

const struct nb_table nb_table_buffers = {"buffers", NULL, columns, array_length(columns), count, row, NULL};

static const struct nb_table *const tables[] = {&nb_table_buffers};

const struct nb_report nb_report_buffers = {
    "buffers",
    "NETBLT buffers and their times",
    "GO, DATA, LDATA, FIRST and LAST RESEND, OK: seconds from the first frame to\n"
    "the first packet or message of its kind; columns with # are its frame.\n"
    "PACKETS, BYTES: different ones captured. RXM: captured or requested before.\n"
    "-: did not happen in this capture.\n",
    tables,
    array_length(tables),
};
