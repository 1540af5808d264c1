/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NETBLT_CONTROL_H
#define NETBLT_CONTROL_H

#include "parse.h"

/* Shows the messages of a CONTROL packet and adds them to the Info column. */
void nb_dissect_control(const struct nb_packet *packet, packet_info *pinfo, proto_tree *tree, proto_item *root);

#endif
