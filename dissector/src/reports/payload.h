/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The transferred bytes: reassembled buffers in the tree, follow stream, export objects. */
#ifndef NETBLT_PAYLOAD_H
#define NETBLT_PAYLOAD_H

#include "connection/record.h"
#include "decode/parse.h"

/* To be called once when the protocol is registered. */
void nb_register_payload(int proto);

/* Each packet on each pass, after the analysis. `keep` (preference): show reassembled buffers in the tree. */
void nb_payload(const struct nb_packet *packet, const struct nb_record *record, packet_info *pinfo, proto_tree *tree,
                bool keep);

#endif
