/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stages: what the layers above the decoder do with each packet. The decoder calls them and knows none of them, so it
 * is a dissector without them. */
#ifndef NETBLT_STAGE_H
#define NETBLT_STAGE_H

#include "decode/carrier.h"
#include "decode/view.h"

/* One packet as it arrived. A frame may hold several: several payloads (tunnels), and several packets in one UDP
 * datagram. */
struct nb_incoming {
    struct nb_packet *packet;
    const struct nb_carrier *carrier;
    packet_info *pinfo;
    uint32_t occurrence; /* number of the payload in the frame, from 0 */
    uint32_t idx;        /* number of the packet in its datagram, from 0 */
    bool verify;         /* checksums are wanted */
};

struct nb_stage {
    /* Before the packet is shown. Fills *known, and may read the packet again (nb_read_as). NULL: nothing to do. */
    void (*learn)(const struct nb_incoming *incoming, struct nb_known *known);
    /* After what the decoder shows. NULL: nothing to do. */
    void (*show)(const struct nb_view *view);
};

/* Stages are called in the order in which they are added. To be called once when the protocol is registered. */
void nb_add_stage(const struct nb_stage *stage);

/* Calls each stage. */
void nb_learn(const struct nb_incoming *incoming, struct nb_known *known);
void nb_show_stages(const struct nb_view *view);

#endif
