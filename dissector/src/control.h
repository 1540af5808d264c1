/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NETBLT_CONTROL_H
#define NETBLT_CONTROL_H

#include "parse.h"
#include "record.h"

/* Shows the messages of a CONTROL packet and adds them to the Info column. `record` is NULL when it is in no stream. */
void nb_dissect_control(const struct nb_packet *packet, packet_info *pinfo, proto_tree *tree, proto_item *root,
                        const struct nb_record *record);

#endif
