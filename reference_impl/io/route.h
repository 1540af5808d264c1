/* SPDX-License-Identifier: BSD-2-Clause */
/* The local address and the MTU of the way to a peer. */
#ifndef NETBLT_IO_ROUTE_H
#define NETBLT_IO_ROUTE_H

#include <stdint.h>

#include "io/address.h"
#include "io/failure.h"

/* What the kernel's routing table has about a peer. */
typedef struct netblt_route {
    netblt_address source; /* the address that our packets will carry, without a port */
    uint32_t mtu;          /* bytes of the largest IP packet that goes there unfragmented (DATA-14) */
} netblt_route;

/* Looks up the way to `peer`; `wanted` is the source that the user requested, or any. Sends nothing.
 * 0, or -1 with *failure: unreachable when there is no route, local when `wanted` is not ours. */
int netblt_route_lookup(const netblt_address *peer, const netblt_address *wanted, netblt_route *route,
                        netblt_failure *failure);

#endif
