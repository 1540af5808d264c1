/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a DATA or LDATA packet is, by its fields alone: sizes, types, numbers, the flag of the last buffer, content. */
#ifndef NETBLT_RULE_DATA_SHAPE_H
#define NETBLT_RULE_DATA_SHAPE_H

#include "connection/event.h"

struct nb_data_view {
    const struct nb_event *event;
    const struct nb_terms *terms; /* RESPONSE */
    struct nb_buffer *buffer;
    struct nb_part *part;
    uint32_t full; /* packets of a full buffer; 0 unknown */
    int length;    /* data bytes */
    int64_t ack;
    bool last; /* L */
    bool ldata;
    bool known; /* length and content are those that were emitted */
};

/* DATA-03, NEG-06 */
void nb_data_judge_packet_size(const struct nb_data_view *view);

/* DATA-04, DATA-05, RESEND-03: the type that belongs to a number. */
void nb_data_judge_type(const struct nb_data_view *view);

/* DATA-09 */
void nb_data_judge_last_flag(const struct nb_data_view *view);

/* RESEND-03, DATA-13: the same number, the same content. Without good data checksums the network may have changed
 * it. */
void nb_data_judge_identity(const struct nb_data_view *view, uint32_t hash);

/* Data bytes without what AMB-02 (c) rounds up. */
int nb_data_clipped_length(const struct nb_data_view *view);

#endif
