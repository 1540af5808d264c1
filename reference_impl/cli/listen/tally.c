/* SPDX-License-Identifier: BSD-2-Clause */
/* Counts per key in a balanced tree of the C library: see tally.h. */
#include "cli/listen/tally.h"

#include <assert.h>
#include <search.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct counted {
    const void *key;
    size_t bytes;
    unsigned count;
    uint8_t copy[]; /* what `key` of an entry in the tree points to */
};

static int compare(const void *a, const void *b)
{
    const struct counted *one = a;
    const struct counted *other = b;
    if (one->bytes != other->bytes)
        return one->bytes < other->bytes ? -1 : 1;
    return memcmp(one->key, other->key, one->bytes);
}

static struct counted *find(const tally *counts, const void *key, size_t bytes)
{
    const struct counted wanted = {.key = key, .bytes = bytes};
    struct counted *const *node = tfind(&wanted, &counts->root, compare);
    return node == NULL ? NULL : *node;
}

unsigned tally_count(const tally *counts, const void *key, size_t bytes)
{
    const struct counted *found = find(counts, key, bytes);
    return found == NULL ? 0 : found->count;
}

int tally_add(tally *counts, const void *key, size_t bytes)
{
    struct counted *found = find(counts, key, bytes);
    if (found == NULL) {
        found = malloc(sizeof *found + bytes);
        if (found == NULL)
            return -1;
        *found = (struct counted){.key = found->copy, .bytes = bytes};
        memcpy(found->copy, key, bytes);
        if (tsearch(found, &counts->root, compare) == NULL) {
            free(found);
            return -1;
        }
    }
    found->count++;
    return 0;
}

void tally_remove(tally *counts, const void *key, size_t bytes)
{
    struct counted *found = find(counts, key, bytes);
    assert(found != NULL && found->count > 0);
    if (--found->count > 0)
        return;
    tdelete(found, &counts->root, compare);
    free(found);
}

void tally_clear(tally *counts)
{
    tdestroy(counts->root, free);
    counts->root = NULL;
}
