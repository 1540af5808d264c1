/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef NETBLT_ANALYSIS_H
#define NETBLT_ANALYSIS_H

#include "stream.h"

/* First pass: updates the stream and judges the packet. Every pass: returns what is known about the frame's packet
 * number `index`; NULL when it belongs to no stream. Sets packet->data_checksum. */
const struct nb_record *nb_analyse(struct nb_packet *packet, const struct nb_carrier *carrier, packet_info *pinfo,
                                   uint32_t index, bool verified, int position);

/* Stream index, roles, capture position, findings. */
void nb_show_record(const struct nb_packet *packet, const struct nb_record *record, packet_info *pinfo,
                    proto_tree *tree, int position);

/* CKSUM-04. The data must have been captured. */
bool nb_data_checksum_fits(const struct nb_packet *packet);

/* Allocates the rules' state of a new stream (file scope). */
void nb_rules_init(struct nb_stream *stream);

/* analysis-redundancy.c: CTRL-04. The acknowledgement has to be told before it is taken into stream->acked. */
struct nb_redundancy *nb_redundancy_new(void);
bool nb_redundancy_knows(const struct nb_stream *stream, int64_t seq);
void nb_redundancy_control(const struct nb_event *event);
void nb_redundancy_acknowledged(const struct nb_event *event, int64_t ack);
void nb_redundancy_passed(const struct nb_event *event); /* a packet of the sender that acknowledges nothing */

/* analysis-order.c: ORDER-02 */
struct nb_order *nb_order_new(void);
void nb_order_control(const struct nb_event *event);
void nb_order_data(const struct nb_event *event, int64_t ack);

#endif
