/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which headers carried a NETBLT packet. */
#ifndef NETBLT_CARRIER_H
#define NETBLT_CARRIER_H

#include "wireshark/compat.h"

struct nb_carrier {
    bool udp;
    bool ipv4;
    bool inside; /* not the first packet of its datagram */
    uint16_t ip_id;
    uint16_t udp_source; /* 0 over plain IP */
    uint16_t udp_target;
    bool irregular; /* packets of different sizes shared its datagram */
    bool unseen;    /* the capture ends before the datagram does */
};

#endif
