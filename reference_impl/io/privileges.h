/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NETBLT_IO_PRIVILEGES_H
#define NETBLT_IO_PRIVILEGES_H

#include "io/failure.h"

/* For good: gives up set-user-ID and set-group-ID identities, every capability that has nothing to do with files and
 * low ports (CAP_NET_RAW above all), and the way back to them by starting programs. A raw socket that is open keeps
 * working. Call it right after opening the socket and before touching any file or peer. 0, or -1 with *failure: then
 * the program must not go on. */
int netblt_privileges_drop(netblt_failure *failure);

#endif
