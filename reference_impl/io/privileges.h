/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NETBLT_IO_PRIVILEGES_H
#define NETBLT_IO_PRIVILEGES_H

#include "io/failure.h"

/* For good: gives up set-user-ID and set-group-ID identities, and CAP_NET_RAW in every set. A raw socket that is open
 * keeps working. Call it right after opening the socket and before touching any file or peer. 0, or -1 with *failure:
 * then the program must not go on. */
int netblt_privileges_drop(netblt_failure *failure);

#endif
