/* SPDX-License-Identifier: BSD-2-Clause */
/* Held lists that peers have sent: see held_cache.h. */
#include "cli/listen/held_cache.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct held_kept {
    TAILQ_ENTRY(held_kept) place;
    netblt_address peer;
    held_key key;
    uint8_t *bytes;
    size_t length;
};

void held_cache_init(held_cache *cache, uint64_t most_bytes, uint64_t most_address_bytes)
{
    *cache = (held_cache){.most_bytes = most_bytes, .most_address_bytes = most_address_bytes};
    TAILQ_INIT(&cache->lists);
}

static void forget(held_cache *cache, struct held_kept *one)
{
    TAILQ_REMOVE(&cache->lists, one, place);
    cache->bytes -= one->length;
    free(one->bytes);
    free(one);
}

void held_cache_clear(held_cache *cache)
{
    struct held_kept *next;
    for (struct held_kept *one = TAILQ_FIRST(&cache->lists); one != NULL; one = next) {
        next = TAILQ_NEXT(one, place);
        forget(cache, one);
    }
}

static struct held_kept *find(const held_cache *cache, const held_key *key)
{
    struct held_kept *one;
    TAILQ_FOREACH(one, &cache->lists, place)
        if (memcmp(&one->key, key, sizeof *key) == 0)
            return one;
    return NULL;
}

/* From the oldest list on, until `bytes` more would be within `most`; only those of `peer` unless that is NULL. */
static void make_room(held_cache *cache, const netblt_address *peer, uint64_t bytes, uint64_t most)
{
    struct held_kept *next;
    uint64_t have = 0;
    struct held_kept *one;
    TAILQ_FOREACH(one, &cache->lists, place)
        if (peer == NULL || netblt_address_same_host(&one->peer, peer))
            have += one->length;
    for (one = TAILQ_LAST(&cache->lists, held_kept_list); one != NULL && have + bytes > most; one = next) {
        next = TAILQ_PREV(one, held_kept_list, place);
        if (peer != NULL && !netblt_address_same_host(&one->peer, peer))
            continue;
        have -= one->length;
        forget(cache, one);
    }
}

int held_cache_keep(held_cache *cache, const netblt_address *peer, const held_key *key, uint8_t *bytes, size_t length)
{
    struct held_kept *one = find(cache, key);
    int error = length > cache->most_address_bytes || length > cache->most_bytes ? EFBIG : 0;
    if (one != NULL)
        forget(cache, one);
    one = error != 0 ? NULL : malloc(sizeof *one);
    if (one == NULL) {
        free(bytes);
        return error != 0 ? error : ENOMEM;
    }
    make_room(cache, peer, length, cache->most_address_bytes);
    make_room(cache, NULL, length, cache->most_bytes);
    *one = (struct held_kept){.peer = *peer, .key = *key, .bytes = bytes, .length = length};
    TAILQ_INSERT_HEAD(&cache->lists, one, place);
    cache->bytes += length;
    return 0;
}

const uint8_t *held_cache_find(held_cache *cache, const held_key *key, size_t *length)
{
    struct held_kept *one = find(cache, key);
    if (one == NULL)
        return NULL;
    TAILQ_REMOVE(&cache->lists, one, place);
    TAILQ_INSERT_HEAD(&cache->lists, one, place);
    *length = one->length;
    return one->bytes;
}
