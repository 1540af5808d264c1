/* SPDX-License-Identifier: BSD-2-Clause */
/* Counts how often each key was added: transfers per address, per network, per file name. */
#ifndef NETBLT_CLI_TALLY_H
#define NETBLT_CLI_TALLY_H

#include <stddef.h>

/* All zero is an empty one. */
typedef struct tally {
    void *root; /* of a tree, see tsearch(3): the time for a key grows with the logarithm of their number */
} tally;

/* How often the key of `bytes` bytes was added and not removed. Keys of different lengths are different. */
unsigned tally_count(const tally *counts, const void *key, size_t bytes);
/* 0, or -1 when memory is short. */
int tally_add(tally *counts, const void *key, size_t bytes);
/* The key must have been added. */
void tally_remove(tally *counts, const void *key, size_t bytes);
void tally_clear(tally *counts);

#endif
