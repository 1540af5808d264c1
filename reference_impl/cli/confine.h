/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NETBLT_CLI_CONFINE_H
#define NETBLT_CLI_CONFINE_H

#include "cli/options.h"

/* The last step of setting up: what peers send is processed by a process that can do little else. No capability is
 * left; Landlock confines files to `directory` (-1: none can be opened any more), `writable` or to be read only; a
 * filter confines system calls. options.sandbox says what happens where the kernel or the build lacks the last two.
 * 0, or -1 with *failure: then nothing of a peer may be processed. */
int confine(const options *given, int directory, bool writable, netblt_failure *failure);

#endif
