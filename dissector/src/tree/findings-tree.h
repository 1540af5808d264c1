/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The findings of a packet in its tree. */
#ifndef NETBLT_FINDINGS_TREE_H
#define NETBLT_FINDINGS_TREE_H

#include "connection/record.h"
#include "decode/parse.h"
#include "rules/findings.h"

/* Capture position and findings. */
void nb_show_record(const struct nb_packet *packet, const struct nb_record *record, packet_info *pinfo,
                    proto_tree *tree, bool position_is_set);

/* Registers the expert items and the filter of every rule. */
void nb_register_rules(int proto);

#endif
