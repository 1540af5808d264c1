/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tables of the Statistics menu: cells of a report as items of such a table, and the memory of both. */
#include "reports/dialog-table.h"

/* Dialogs sort texts as texts. So numbers are right-aligned in a fixed width, where that is the order of numbers, and
 * the mark of an estimate follows. */
stat_tap_table_item_type nb_dialog_item(const struct nb_cell *cell, const struct nb_column *column)
{
    enum { WIDTH = 12 };
    struct nb_cell plain = *cell;
    stat_tap_table_item_type item = {.type = TABLE_ITEM_STRING};

    plain.estimate = false;
    char *text = nb_cell_show(&plain, column);
    item.value.string_value =
        column->style == NB_LEFT ? g_strdup(text) : g_strdup_printf("%*s%s", WIDTH, text, cell->estimate ? "~" : " ");
    g_free(text);
    return item;
}

void nb_dialog_free_item(stat_tap_table *table _U_, guint row _U_, guint column _U_, stat_tap_table_item_type *item)
{
    if (item->type == TABLE_ITEM_STRING) {
        g_free((char *)item->value.string_value);
    }
    item->type = TABLE_ITEM_NONE;
}

void nb_dialog_set(stat_tap_table *table, guint row, guint column, stat_tap_table_item_type item)
{
    nb_dialog_free_item(table, row, column, stat_tap_get_field_data(table, row, column));
    stat_tap_set_field_data(table, row, column, &item);
}

void nb_dialog_empty(stat_tap_table *table)
{
    for (guint row = 0; row < table->num_elements; row++) {
        for (guint column = 0; column < table->num_fields; column++) {
            nb_dialog_free_item(table, row, column, stat_tap_get_field_data(table, row, column));
        }
        g_free(table->elements[row]);
    }
    g_free(table->elements);
    table->elements = NULL;
    table->num_elements = 0;
}
