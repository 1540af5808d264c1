/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which control messages were captured: a ring with room for all that are not acknowledged, and some before. */
#ifndef NETBLT_TOLD_H
#define NETBLT_TOLD_H

#include "wireshark/compat.h"

/* Unacknowledged messages that are remembered; RFC 998 thinks of 50 to 80 in a packet. */
#define NB_TOLD_WINDOW 1024

struct nb_told {
    int64_t seq;    /* unwrapped */
    uint32_t frame; /* where it was captured first; 0: empty slot */
    uint32_t buffer;
    uint32_t hash; /* of what a repetition must not change (CTRL-02) */
    float when;    /* seconds since the first frame */
    uint16_t bytes;
    uint16_t burst_size;     /* OK: the largest offered in any copy */
    uint16_t burst_interval; /* OK: the shortest offered in any copy, ms */
    uint16_t timer;          /* OK: as published in the first copy, ms */
    uint8_t type;
    uint8_t copies; /* CONTROLs that held it, up to 255 */
    bool offer_changed;
};

struct nb_told_log {
    struct nb_told *slots; /* file scope */
    uint32_t room;
};

/* NULL when it was not captured, or is too long ago. Message 0 does not exist. / */
struct nb_told *nb_told_find(const struct nb_told_log *log, int64_t seq);

/* The slot for message `seq`, emptied unless it holds this message. `window`: messages to keep beside it. */
struct nb_told *nb_told_place(struct nb_told_log *log, int64_t seq, int64_t window);

#endif
