/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The values of OPEN and RESPONSE (RFC 998 5.1), and the pace of the bursts. */
#ifndef NETBLT_TERMS_H
#define NETBLT_TERMS_H

#include "wireshark/compat.h"

/* OPEN or RESPONSE, first copy. */
struct nb_terms {
    uint32_t frame;         /* 0: not captured */
    uint32_t buffer_size;   /* bytes */
    uint32_t transfer_size; /* bytes */
    uint16_t data_packet_size;
    uint16_t burst_size;     /* packets */
    uint16_t burst_interval; /* ms */
    uint16_t death_timer;    /* s */
    uint16_t flags;
    uint16_t max_buffers;
    uint32_t text_hash; /* client string */
};

/* Burst size (packets) and burst interval (ms): "looser" is more packets per time. */
struct nb_pace {
    uint16_t size;
    uint16_t interval;
};

/* What either of both allows. */
static inline struct nb_pace nb_looser(struct nb_pace a, struct nb_pace b)
{
    return (struct nb_pace){MAX(a.size, b.size), MIN(a.interval, b.interval)};
}

#endif
