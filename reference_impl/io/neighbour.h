/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds the hardware address of the next hop. */
#ifndef NETBLT_IO_NEIGHBOUR_H
#define NETBLT_IO_NEIGHBOUR_H

#include <linux/if_packet.h>

#include "io/address.h"
#include "io/failure.h"

/* The next hop on the way to a peer, for packets that a packet socket puts on the wire by itself. */
typedef struct netblt_neighbour {
    struct sockaddr_ll name; /* interface, protocol and link-layer address */
} netblt_neighbour;

/* Asks the kernel's tables for the way to `foreign`. Sends nothing: who has not spoken with the next hop lately may not
 * find it there. 0, or -1 with *failure. */
int netblt_neighbour_find(const netblt_address *foreign, netblt_neighbour *neighbour, netblt_failure *failure);

#endif
