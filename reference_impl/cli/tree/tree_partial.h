/* SPDX-License-Identifier: BSD-2-Clause */
/* The partial directory of a target: made, locked, found again, emptied (docs/tree-transfer.md). */
#ifndef NETBLT_CLI_TREE_PARTIAL_H
#define NETBLT_CLI_TREE_PARTIAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/tree/tree_journal.h"
#include "io/failure.h"

/* What names that receivers use for themselves begin with. */
#define PARTIAL_RESERVED_PREFIX ".netblt-"
#define PARTIAL_NAME_BYTES 40
#define PARTIAL_KEY_NAME_BYTES (2 * TREE_KEY_BYTES + 1)
/* A name in the partial directory that is free for the process with the lock: what is made under it is renamed next. */
#define PARTIAL_NEW "new"

/* The name for `target`; NULL: several names of a directory. */
void tree_partial_name(const char *target, char name[PARTIAL_NAME_BYTES]);
/* Whether there is one in the directory `parent`. */
bool tree_partial_exists(int parent, const char *target);
/* Opens or makes the one for `target` and locks it. A descriptor, which has the lock, or -1 with *failure. */
int tree_partial_open(int parent, const char *target, netblt_failure *failure);
/* Removes everything in the directory `dir`. 0, or an errno value. */
int tree_partial_clear(int dir);
/* Removes the one for `target`, whose lock `dir` has, with everything in it. 0, or an errno value. */
int tree_partial_remove(int parent, const char *target, int dir);
/* Removes those in `parent` that no process uses and in which nothing was stored for PARTIAL_EXPIRY_DAYS days. */
#define PARTIAL_EXPIRY_DAYS 14
void tree_partial_expire(int parent);

/* The name of a file's incomplete content. */
void tree_partial_key_name(const tree_key *key, char name[PARTIAL_KEY_NAME_BYTES]);
/* False: it is no such name. */
bool tree_partial_parse_key(const char *name, tree_key *key);
/* Calls `visit` for each file of the directory `dir`. 0, or an errno value. */
int tree_partial_visit(int dir, void (*visit)(void *context, const char *name), void *context);

/* Writes a file, which replaces one of that name in one step. After a failure of power it may be damaged: what is read
 * must have a hash. 0, or an errno value. */
int tree_partial_save(int dir, const char *name, const uint8_t *bytes, size_t length);
/* Reads a file of at most `most` bytes. Memory that the caller frees, or NULL with errno. */
uint8_t *tree_partial_load(int dir, const char *name, uint64_t most, size_t *length);

#endif
