/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NETBLT_IO_ROUTE_H
#define NETBLT_IO_ROUTE_H

#include <netinet/in.h>
#include <stdint.h>

#include "io/failure.h"

/* What the kernel's routing says about a peer. */
typedef struct netblt_route {
    struct in_addr source; /* the address that our packets will carry */
    uint32_t mtu;          /* bytes of the largest IP packet that goes there unfragmented (DATA-14) */
} netblt_route;

/* Looks up the way to `peer`; `bind` is the wanted source or INADDR_ANY. Sends nothing.
 * 0, or -1 with *failure: unreachable when there is no route, local when `bind` is not ours. */
int netblt_route_lookup(struct in_addr peer, struct in_addr bind_address, netblt_route *route, netblt_failure *failure);

#endif
