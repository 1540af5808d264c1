/* SPDX-License-Identifier: BSD-2-Clause */
/* Claims on NETBLT ports of a host. */
#ifndef NETBLT_IO_CLAIM_H
#define NETBLT_IO_CLAIM_H

#include <stdbool.h>
#include <stdint.h>

#include "io/address.h"
#include "io/failure.h"

/* Who owns which NETBLT port of this host. Every raw socket sees every packet of protocol 30, so the kernel does
 * not know: a process makes its claim known by binding an abstract Unix socket whose name holds address and port. Such
 * names live as long as their process and only within one network namespace, which is just the extent of an address.
 * Only the claims of users who may open such a socket count (claim_names.h). A wildcard stands for all addresses of its
 * family, or of both, and overlaps with each of them. */

/* 0 with *claim >= 0, to be released by netblt_claim_release(). -1 with *failure when another claim overlaps: of two
 * processes that claim at one moment both may be refused, never none. Does not block. */
int netblt_claim_port(const netblt_address *address, uint16_t port, int *claim, netblt_failure *failure);
void netblt_claim_release(int claim);

/* True when some process (this one counts) has claimed a port that packets for (address, port) may belong to. True
 * also when it cannot be determined. */
bool netblt_claim_exists(const netblt_address *address, uint16_t port);

#endif
