/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One packet while it is shown: its tree and its part of the Info column. */
#include "decode/view.h"

void nb_info(const struct nb_view *view, const char *text)
{
    col_append_str(view->pinfo->cinfo, COL_INFO, text);
    proto_item_append_text(view->root, "%s", text);
}
