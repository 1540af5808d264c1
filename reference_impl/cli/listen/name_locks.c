/* SPDX-License-Identifier: BSD-2-Clause */
/* Names that transfers are storing under: see name_locks.h. */
#include "cli/listen/name_locks.h"

#include <string.h>

/* Bytes of the next longer ancestor of `name` after the one of `bytes` bytes; of the name itself after its last one. */
static size_t next_part(const char *name, size_t bytes)
{
    size_t from = bytes == 0 ? 0 : bytes + 1;
    return from + strcspn(name + from, "/");
}

bool names_overlap(const char *a, const char *b)
{
    size_t a_bytes = strlen(a);
    size_t b_bytes = strlen(b);
    size_t shorter = a_bytes < b_bytes ? a_bytes : b_bytes;
    const char *longer = a_bytes < b_bytes ? b : a;
    if (memcmp(a, b, shorter) != 0)
        return false;
    return shorter == 0 || longer[shorter] == '\0' || longer[shorter] == '/';
}

bool name_locks_has(const name_locks *locks, const char *name)
{
    size_t all = strlen(name);
    for (size_t bytes = 0; bytes < all; bytes = next_part(name, bytes))
        if (tally_count(&locks->names, name, bytes) > 0)
            return true;
    return tally_count(&locks->names, name, all) > 0 || tally_count(&locks->ancestors, name, all) > 0;
}

/* Removes the name from all ancestors of fewer than `below` bytes. */
static void remove_from_ancestors(name_locks *locks, const char *name, size_t below)
{
    for (size_t bytes = 0; bytes < below; bytes = next_part(name, bytes))
        tally_remove(&locks->ancestors, name, bytes);
}

int name_locks_add(name_locks *locks, const char *name)
{
    size_t all = strlen(name);
    size_t bytes = 0;
    for (; bytes < all && tally_add(&locks->ancestors, name, bytes) == 0;)
        bytes = next_part(name, bytes);
    if (bytes >= all && tally_add(&locks->names, name, all) == 0)
        return 0;
    remove_from_ancestors(locks, name, bytes);
    return -1;
}

void name_locks_remove(name_locks *locks, const char *name)
{
    size_t all = strlen(name);
    remove_from_ancestors(locks, name, all);
    tally_remove(&locks->names, name, all);
}

void name_locks_clear(name_locks *locks)
{
    tally_clear(&locks->names);
    tally_clear(&locks->ancestors);
}
