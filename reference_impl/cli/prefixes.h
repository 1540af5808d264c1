/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NETBLT_CLI_PREFIXES_H
#define NETBLT_CLI_PREFIXES_H

#include "cli/options.h"

/* --allow: may this peer be served? Everybody may when no prefix was given. */
bool prefixes_allow(const options *given, const netblt_address *peer);

#endif
