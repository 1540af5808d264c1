/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is known of the conversation, in the tree of a packet. */
#ifndef NETBLT_CONVERSATION_TREE_H
#define NETBLT_CONVERSATION_TREE_H

#include "connection/record.h"
#include "decode/view.h"

/* Stream, roles, terms, facts and notes of the packet. */
void nb_show_conversation(const struct nb_packet *packet, const struct nb_record *record, packet_info *pinfo,
                          proto_tree *tree);

/* Retransmission, duplicate, out of order: as expert items. */
void nb_tell_events(const struct nb_record *record, packet_info *pinfo, proto_item *root);

/* What the decoder is to know of the packet's connection. `record`: NULL when it belongs to none. */
struct nb_known nb_known_of(const struct nb_record *record);

#endif
