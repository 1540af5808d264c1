/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The reports as tables of the Statistics menu and of sharkd. Such a table does not learn when to draw, so its rows are
 * made again whenever a packet changes them. */
#include "reports/tap.h"

#include <epan/stat_tap_ui.h>

#include "connection/take.h"
#include "reports/dialog-table.h"
#include "reports/stats-report.h"
#include "reports/taps.h"

/* A registered table; Wireshark keeps one of each. */
struct dialog {
    const struct nb_table *rows;
    const char *title;
    const char *name;
    struct nb_histories *all;
    GHashTable *row_of; /* history, or buffer, or message -> row number + 1 */
    stat_tap_table *table;
    stat_tap_table_item items[NB_TABLE_COLUMNS_MAX + 1];
};

static struct dialog dialogs[] = {
    {.rows = &nb_table_summary, .title = "NETBLT Connections (RFC 1030)", .name = "netblt,table,summary"},
    {.rows = &nb_table_buffers, .title = "NETBLT Buffers", .name = "netblt,table,buffers"},
    {.rows = &nb_table_messages, .title = "NETBLT Control Messages", .name = "netblt,table,messages"},
};

static struct dialog *dialog_of(const stat_tap_table *table)
{
    for (size_t i = 0; i < array_length(dialogs); i++) {
        if (dialogs[i].table == table) {
            return &dialogs[i];
        }
    }
    return NULL;
}

static const struct nb_column stream_column = {"STREAM", NULL, 0, NB_RIGHT};

/* Tables of many connections in one need to state which. */
static bool has_stream_column(const struct dialog *dialog)
{
    return dialog->rows->key != NULL;
}

static guint columns_of(const struct dialog *dialog)
{
    guint count = has_stream_column(dialog);

    for (size_t i = 0; i < dialog->rows->n_columns; i++) {
        count += (dialog->rows->columns[i].style != NB_FINAL);
    }
    return count;
}

static guint row_number(struct dialog *dialog, const void *subject)
{
    guint row = GPOINTER_TO_UINT(g_hash_table_lookup(dialog->row_of, subject));

    if (row == 0) {
        stat_tap_table_item_type empty[NB_TABLE_COLUMNS_MAX + 1] = {0};
        row = g_hash_table_size(dialog->row_of) + 1;
        stat_tap_init_table_row(dialog->table, row - 1, columns_of(dialog), empty);
        g_hash_table_insert(dialog->row_of, (gpointer)subject, GUINT_TO_POINTER(row));
    }
    return row - 1;
}

/* Draws the row that is about `subject`: the connection, a buffer or a message of it. */
static void renew(struct dialog *dialog, const struct nb_history *history, const void *subject)
{
    const guint row = row_number(dialog, subject);
    struct nb_cell cells[NB_TABLE_COLUMNS_MAX] = {0};
    guint column = 0;

    if (dialog->rows == &nb_table_buffers) {
        nb_buffer_row(subject, cells);
    } else if (dialog->rows == &nb_table_messages) {
        nb_message_row(history->stream, subject, cells);
    } else {
        dialog->rows->row(history, 0, cells);
    }
    if (has_stream_column(dialog)) {
        const struct nb_cell stream = nb_cell_uint(history->stream->index);
        nb_dialog_set(dialog->table, row, column++, nb_dialog_item(&stream, &stream_column));
    }
    for (size_t n = 0; n < dialog->rows->n_columns; n++) {
        if (dialog->rows->columns[n].style != NB_FINAL) {
            nb_dialog_set(dialog->table, row, column++, nb_dialog_item(&cells[n], &dialog->rows->columns[n]));
        }
    }
    nb_cells_free(cells, dialog->rows->n_columns);
}

static void renew_if_known(struct dialog *dialog, const struct nb_history *history, const void *subject)
{
    if (subject != NULL) {
        renew(dialog, history, subject);
    }
}

/* The buffers that the packet names. */
static void renew_buffers(struct dialog *dialog, const struct nb_history *history, const struct nb_packet *packet)
{
    const struct nb_buffers *buffers = &history->stream->buffers;
    struct nb_message message;
    int offset = NB_HEADER_BYTES;

    if (nb_is_data(packet->type)) {
        renew_if_known(dialog, history, nb_buffer_life_find(buffers, packet->buffer));
    }
    while (packet->type == NB_CONTROL && nb_next_message(packet, &offset, &message) == NB_MESSAGE) {
        renew_if_known(dialog, history, nb_buffer_life_find(buffers, message.buffer));
    }
}

/* The messages whose effect the packet may be: the GO and the RESENDs of its buffer. */
static void renew_causes(struct dialog *dialog, const struct nb_history *history, const struct nb_packet *packet)
{
    const struct nb_stream *stream = history->stream;
    const struct nb_buffer_life *buffer = nb_buffer_life_find(&stream->buffers, packet->buffer);

    if (buffer == NULL) {
        return;
    }
    if (buffer->go_message != 0 && buffer->packets == 1) {
        renew_if_known(dialog, history,
                       nb_message_find_any(&stream->messages, stream->messages.base + buffer->go_message - 1));
    }
    for (const struct nb_asked *asked = buffer->requests == NULL ? NULL : buffer->requests->newest; asked != NULL;
         asked = asked->older) {
        renew_if_known(dialog, history, nb_message_find_any(&stream->messages, asked->seq));
    }
}

/* The messages in the packet, those that it acknowledges, and those that caused it. */
static void renew_messages(struct dialog *dialog, const struct nb_history *history, const struct nb_tap *tap)
{
    const struct nb_stream *stream = history->stream;
    const struct nb_packet *packet = &tap->packet;
    struct nb_message message;
    int offset = NB_HEADER_BYTES;
    int64_t first, end;

    while (packet->type == NB_CONTROL && nb_next_message(packet, &offset, &message) == NB_MESSAGE) {
        renew_if_known(dialog, history, nb_message_life(tap->record, message.seq));
    }
    if (nb_has_high_seq(packet->type)) {
        nb_acknowledged_by(stream, nb_moment_of(tap->record), &first, &end);
        for (int64_t seq = first; seq < end; seq++) {
            renew_if_known(dialog, history, nb_message_find_any(&stream->messages, seq));
        }
    }
    if (nb_is_data(packet->type)) {
        renew_causes(dialog, history, packet);
    }
}

static void renew_touched(struct dialog *dialog, const struct nb_history *history, const struct nb_tap *tap)
{
    if (dialog->rows == &nb_table_summary) {
        renew(dialog, history, history);
    } else if (!tap->counts) {
        return;
    } else if (dialog->rows == &nb_table_buffers) {
        renew_buffers(dialog, history, &tap->packet);
    } else {
        renew_messages(dialog, history, tap);
    }
}

static tap_packet_status take(void *state, packet_info *pinfo, epan_dissect_t *edt _U_, const void *data,
                              tap_flags_t flags _U_)
{
    const stat_data_t *stat = state;
    struct dialog *dialog = dialog_of(g_array_index(stat->stat_tap_data->tables, stat_tap_table *, 0));
    const struct nb_history *history = dialog == NULL ? NULL : nb_histories_note(dialog->all, pinfo, data);

    if (history == NULL) {
        return TAP_PACKET_DONT_REDRAW;
    }
    renew_touched(dialog, history, data);
    return TAP_PACKET_REDRAW;
}

static void start(stat_tap_table_ui *ui)
{
    for (size_t i = 0; i < array_length(dialogs); i++) {
        struct dialog *dialog = &dialogs[i];
        if (strcmp(ui->cli_string, dialog->name) != 0) {
            continue;
        }
        stat_tap_table *table = stat_tap_find_table(ui, dialog->title);
        if (table != NULL) {
            if (ui->stat_tap_reset_table_cb != NULL) {
                ui->stat_tap_reset_table_cb(table);
            }
            return;
        }
        if (dialog->all == NULL) {
            dialog->all = nb_histories_new();
            dialog->row_of = g_hash_table_new(g_direct_hash, g_direct_equal);
        }
        nb_histories_reset(dialog->all);
        g_hash_table_remove_all(dialog->row_of);
        dialog->table = stat_tap_init_table(dialog->title, (int)columns_of(dialog), 0, NULL);
        stat_tap_add_table(ui, dialog->table);
    }
}

/* The capture is read again. */
static void reset(stat_tap_table *table)
{
    struct dialog *dialog = dialog_of(table);

    nb_dialog_empty(table);
    if (dialog != NULL) {
        nb_histories_reset(dialog->all);
        g_hash_table_remove_all(dialog->row_of);
    }
}

static void describe_columns(struct dialog *dialog)
{
    stat_tap_table_item *item = dialog->items;

    if (has_stream_column(dialog)) {
        *item++ = (stat_tap_table_item){TABLE_ITEM_STRING, TAP_ALIGN_RIGHT, "STREAM", "%s"};
    }
    for (size_t i = 0; i < dialog->rows->n_columns; i++) {
        const struct nb_column *column = &dialog->rows->columns[i];
        if (column->style != NB_FINAL) {
            *item++ = (stat_tap_table_item){
                TABLE_ITEM_STRING, column->style == NB_LEFT ? TAP_ALIGN_LEFT : TAP_ALIGN_RIGHT, column->title, "%s"};
        }
    }
}

void nb_register_dialogs(void)
{
    static stat_tap_table_ui uis[array_length(dialogs)];
    static tap_param parameters[] = {{PARAM_FILTER, "filter", "Filter", NULL, TRUE}};

    for (size_t i = 0; i < array_length(dialogs); i++) {
        describe_columns(&dialogs[i]);
        uis[i] = (stat_tap_table_ui){.group = REGISTER_PACKET_STAT_GROUP_UNSORTED,
                                     .title = dialogs[i].title,
                                     .tap_name = NB_TAP_NAME,
                                     .cli_string = dialogs[i].name,
                                     .stat_tap_init_cb = start,
                                     .packet_func = take,
                                     .stat_tap_reset_table_cb = reset,
                                     .stat_tap_free_table_item_cb = nb_dialog_free_item,
                                     .nfields = columns_of(&dialogs[i]),
                                     .fields = dialogs[i].items,
                                     .nparams = array_length(parameters),
                                     .params = parameters};
        register_stat_tap_table_ui(&uis[i]);
    }
}
