/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One packet while it is shown: what is known of it, and where its tree and its part of the Info column go. */
#ifndef NETBLT_VIEW_H
#define NETBLT_VIEW_H

#include "decode/parse.h"

struct nb_record;
struct nb_view;

/* What is known of it from the packet's connection; all zero when it belongs to none. The decoder knows no more of
 * connections. */
struct nb_known {
    const struct nb_record *record; /* not read here */
    bool data_checksummed;          /* C in the RESPONSE */
    bool data_spoilt;               /* bad data checksum */
    bool guarded;                   /* NULL-ACK holds a hash in its padding */
    /* Adds what is known of a control message to its tree. */
    void (*show_message)(const struct nb_view *view, const struct nb_message *message, proto_tree *tree);
};

struct nb_view {
    const struct nb_packet *packet;
    packet_info *pinfo;
    proto_tree *tree;
    proto_item *root;
    struct nb_known known;
    bool verify; /* checksums are wanted */
};

/* Adds to the Info column and to the packet's line in the tree. */
void nb_info(const struct nb_view *view, const char *text);

#endif
