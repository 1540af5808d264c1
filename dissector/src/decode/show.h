/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shows one packet as it was captured: its tree, its part of the Info column, what is wrong with it by itself. */
#ifndef NETBLT_SHOW_H
#define NETBLT_SHOW_H

#include "decode/view.h"

/* Sets view->root and view->tree under `parent`. */
void nb_show_packet(struct nb_view *view, proto_tree *parent);

#endif
