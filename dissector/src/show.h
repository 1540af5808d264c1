/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shows one packet as it stands on the wire: its tree, its part of the Info column, what is wrong with it by itself. */
#ifndef NETBLT_SHOW_H
#define NETBLT_SHOW_H

#include "parse.h"
#include "record.h"

struct nb_view {
    const struct nb_packet *packet;
    packet_info *pinfo;
    proto_tree *tree;
    proto_item *root;
    const struct nb_record *record; /* NULL when the packet belongs to no stream */
    bool verify;                    /* checksums are wanted */
};

/* Sets view->root and view->tree under `parent`. */
void nb_show_packet(struct nb_view *view, proto_tree *parent);

/* show-body.c: what follows the header of a sound packet. */
void nb_show_body(const struct nb_view *view);

/* Adds to the Info column and to the packet's line in the tree. */
void nb_info(const struct nb_view *view, const char *text);

#endif
