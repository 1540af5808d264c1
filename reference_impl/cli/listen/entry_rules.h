/* SPDX-License-Identifier: BSD-2-Clause */
/* Which entries of a peer's manifest may be stored in the directory that is served. */
#ifndef NETBLT_CLI_ENTRY_RULES_H
#define NETBLT_CLI_ENTRY_RULES_H

#include "cli/tree/manifest.h"

/* NULL when the entry may be stored, else why not, for the peer. Beyond the rules of all manifests:
 * - No control characters, as in all names of netblt listen.
 * - No part begins with ".netblt-": such names are of files that are being stored, and never served.
 * - A link's target is relative and stays beneath the top directory of the transfer. It has ".." at its beginning only:
 *   then it stays there whatever links the directories on its way are exchanged for. A link in no directory of the
 *   transfer names something beside it. */
const char *entry_check(const manifest_entry *entry);

/* Whether `name` has characters that terminals, logs and shell scripts take for something else. */
bool entry_has_control_character(const char *name);
/* Whether a part of the path `name` is of files that are being stored. */
bool entry_is_temporary(const char *name);

#endif
