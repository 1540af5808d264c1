/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Relations between the packets of a connection, without findings: retransmissions, who answers whom and after
 * what time, bursts, outstanding buffers. Built on the first pass; what a packet learns about later packets appears
 * when it is looked at again. */
#ifndef NETBLT_CONVERSATION_H
#define NETBLT_CONVERSATION_H

#include "connection/record.h"

enum nb_completeness {
    NB_SEEN_OPEN = 1 << 0,
    NB_SEEN_RESPONSE = 1 << 1,
    NB_SEEN_DATA = 1 << 2,
    NB_SEEN_LAST = 1 << 3, /* the LDATA of the last buffer */
    NB_SEEN_DONE = 1 << 4,
    NB_SEEN_BREAK = 1 << 5, /* QUIT, QUITACK, ABORT or REFUSED */
};

enum { NB_ONCE_TYPES = 13, NB_IDS_KEPT = 4 };

struct nb_conversation {
    bool begun;                             /* a packet that counts was captured */
    uint8_t completeness;                   /* enum nb_completeness */
    uint16_t burst_size, burst_interval_ms; /* as last announced */
    /* bursts of the sender */
    uint32_t burst, burst_position;
    nb_moment burst_begun, last_data;
    /* the last packets of each end, to know copies where IP IDs do not count upwards */
    struct {
        uint16_t ip_id;
        uint32_t hash, frame;
    } recent_ids[2][NB_IDS_KEPT];
    uint8_t recent_at[2];
    /* last, after what each packet needs: by end and type, the first packet of a kind that is retransmitted */
    nb_moment first_of[2][NB_ONCE_TYPES];
};

#endif
