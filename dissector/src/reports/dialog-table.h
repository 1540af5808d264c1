/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tables of the Statistics menu: cells of a report as items of such a table, and the memory of both. */
#ifndef NETBLT_DIALOG_TABLE_H
#define NETBLT_DIALOG_TABLE_H

#include "wireshark/compat.h"

#include <epan/stat_tap_ui.h>

#include "reports/stats-report.h"

/* As it is shown in the table. nb_dialog_set takes it over. */
stat_tap_table_item_type nb_dialog_item(const struct nb_cell *cell, const struct nb_column *column);

/* Puts an item in the place of the one before, which is freed. The row must exist. */
void nb_dialog_set(stat_tap_table *table, guint row, guint column, stat_tap_table_item_type item);

void nb_dialog_free_item(stat_tap_table *table, guint row, guint column, stat_tap_table_item_type *item);

/* Takes all rows away: the table is as stat_tap_init_table made it. */
void nb_dialog_empty(stat_tap_table *table);

#endif
