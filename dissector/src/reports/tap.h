/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What listeners receive for each NETBLT packet. Every statistic is made from this alone, so that statistics can be
 * requested at any time, with any filter, and never change what the analysis keeps. */
#ifndef NETBLT_TAP_H
#define NETBLT_TAP_H

#include "wireshark/compat.h"

#include <epan/tap.h>

#include "connection/record.h"
#include "connection/stream.h"
#include "decode/parse.h"

#define NB_TAP_NAME "netblt"

/* One packet, valid while the listener runs. */
struct nb_tap {
    struct nb_packet packet;
    const struct nb_record *record; /* NULL: belongs to no connection */
    bool counts;                    /* sound, checksum not wrong, no copy made on the way or by the capture */
    address source, destination;    /* of the IP header before it */
};

/* To be called once when the protocol is registered. */
void nb_register_tap(void);

/* Registers everything that listens: see taps.c. To be called in the handoff. */
void nb_register_statistics(int proto);

/* Hands the packet to the listeners; costs nothing when there are none. */
void nb_tap_packet(packet_info *pinfo, const struct nb_packet *packet, const struct nb_record *record);

#endif
