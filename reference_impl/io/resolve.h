/* SPDX-License-Identifier: BSD-2-Clause */
/* Host names and numbers to addresses. */
#ifndef NETBLT_IO_RESOLVE_H
#define NETBLT_IO_RESOLVE_H

#include "io/address.h"
#include "io/failure.h"

/* A number such as 10.0.0.1, 2001:db8::1 or fe80::1%eth0, or a name. `family` restricts the answer (options -4 and -6);
 * with NETBLT_FAMILY_ANY the system's order of preference decides. *address comes without a port.
 * 0, or -1 with *failure (local: name unknown, or not the address of one host; names: no server answers now). */
int netblt_resolve(const char *host, enum netblt_family family, netblt_address *address, netblt_failure *failure);

/* A number only; the wildcards 0.0.0.0 and :: are allowed. 0, or -1 with *failure, which names `option`. */
int netblt_parse_address(const char *option, const char *text, netblt_address *address, netblt_failure *failure);

#endif
