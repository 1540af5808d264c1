/* SPDX-License-Identifier: BSD-2-Clause */
/* Held lists that peers have sent and will refer to in a later connection (docs/tree-transfer.md, step 3). */
#ifndef NETBLT_CLI_HELD_CACHE_H
#define NETBLT_CLI_HELD_CACHE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "io/address.h"

#define HELD_KEY_BYTES 8 /* of each hash in a client string */
/* Of one list; 41 bytes for each run of pieces, 9 for each file: no peer that resumes holds more than this. */
#define HELD_LIST_MAX_BYTES (UINT64_C(16) << 20)

/* What a list is found by: the hashes that the client string of a later step names. */
typedef struct held_key {
    uint8_t manifest[HELD_KEY_BYTES];
    uint8_t held[HELD_KEY_BYTES];
} held_key;

struct held_kept;

/* The oldest lists give way: those of the same address first, when that has more than its share. A peer whose list was
 * removed sends it once more. */
typedef struct held_cache {
    TAILQ_HEAD(held_kept_list, held_kept) lists; /* the one that was used last is the first */
    uint64_t bytes;
    uint64_t most_bytes;         /* of all */
    uint64_t most_address_bytes; /* of the lists of one address */
} held_cache;

void held_cache_init(held_cache *cache, uint64_t most_bytes, uint64_t most_address_bytes);
void held_cache_clear(held_cache *cache);
/* Takes over `bytes`, from malloc(), in any case. 0, or an errno value: the list is longer than what one address may
 * have, or memory is short. */
int held_cache_keep(held_cache *cache, const netblt_address *peer, const held_key *key, uint8_t *bytes, size_t length);
/* The list, which stays the cache's and is valid until the next call that keeps one; NULL when it is not there. */
const uint8_t *held_cache_find(held_cache *cache, const held_key *key, size_t *length);

#endif
