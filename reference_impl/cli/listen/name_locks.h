/* SPDX-License-Identifier: BSD-2-Clause */
/* Names that transfers are storing under: never the same twice, and never one beneath the other. */
#ifndef NETBLT_CLI_NAME_LOCKS_H
#define NETBLT_CLI_NAME_LOCKS_H

#include <stdbool.h>

#include "cli/listen/tally.h"

/* Names are paths relative to the directory that is served, with no empty part, no "." and no "..". The empty name is
 * that directory itself. The time for a name grows with its parts and the logarithm of the locked names. All zero:
 * nothing is locked. */
typedef struct name_locks {
    tally names;
    tally ancestors; /* of the locked names, each counted for every name beneath it */
} name_locks;

/* Whether a transfer that stores under `a` may change what one that stores under `b` stores. */
bool names_overlap(const char *a, const char *b);
/* Whether a locked name overlaps with `name`. */
bool name_locks_has(const name_locks *locks, const char *name);
/* 0, or -1 when memory is short. */
int name_locks_add(name_locks *locks, const char *name);
/* The name must have been added. */
void name_locks_remove(name_locks *locks, const char *name);
void name_locks_clear(name_locks *locks);

#endif
