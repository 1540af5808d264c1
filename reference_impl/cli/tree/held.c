/* SPDX-License-Identifier: BSD-2-Clause */
/* The held list of a tree transfer, encoded and decoded: see held.h. */
#include "cli/tree/held.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/tree/grow.h"
#include "cli/tree/octets.h"

#define ENTRY_LEAST_BYTES 5
#define SUBTREE_BYTES (1 + 8 + PIECE_HASH_BYTES)
/* Of a file of the largest size: pieces fit into so many bits. */
#define LEVEL_MAX 46

held_list *held_new(void)
{
    return calloc(1, sizeof(held_list));
}

void held_free(held_list *held)
{
    if (held == NULL)
        return;
    for (uint32_t i = 0; i < held->count; i++)
        free(held->entries[i].subtrees);
    free(held->entries);
    free(held->encoded);
    free(held);
}

/* The next entry, all zero. NULL when memory is short. */
static held_entry *take_entry(held_list *held)
{
    held_entry *entries = grow(held->entries, held->count, &held->capacity, sizeof *entries);
    if (entries == NULL)
        return NULL;
    held->entries = entries;
    held->entries[held->count] = (held_entry){0};
    return &held->entries[held->count];
}

int held_add(held_list *held, const held_entry *entry)
{
    held_entry *copy = take_entry(held);
    size_t bytes = entry->subtree_count * sizeof *entry->subtrees;
    if (copy == NULL)
        return ENOMEM;
    *copy = *entry;
    copy->subtrees = bytes == 0 ? NULL : malloc(bytes);
    if (bytes != 0 && copy->subtrees == NULL)
        return ENOMEM;
    if (bytes != 0)
        memcpy(copy->subtrees, entry->subtrees, bytes);
    held->count++;
    return 0;
}

/* ---- encoding -------------------------------------------------------------------------------------------------- */

static void encode_entry(octets *to, const held_entry *entry)
{
    octets_add_number(to, entry->entry, 4);
    octets_add_number(to, entry->kind, 1);
    if (entry->kind != HELD_SUBTREES)
        return;
    octets_add_number(to, entry->subtree_count, 4);
    for (uint32_t i = 0; i < entry->subtree_count; i++) {
        octets_add_number(to, entry->subtrees[i].level, 1);
        octets_add_number(to, entry->subtrees[i].index, 8);
        octets_add(to, entry->subtrees[i].hash, PIECE_HASH_BYTES);
    }
}

static void make_id(held_list *held)
{
    uint8_t hash[PIECE_HASH_BYTES];
    blake3_of(held->encoded, held->encoded_bytes, hash);
    memcpy(held->id, hash, sizeof held->id);
    if (held->count == 0)
        memset(held->id, 0, sizeof held->id);
}

int held_seal(held_list *held)
{
    octets encoded = {0};
    octets_add_number(&encoded, held->count, 4);
    for (uint32_t i = 0; i < held->count; i++)
        encode_entry(&encoded, &held->entries[i]);
    held->encoded = encoded.bytes;
    held->encoded_bytes = encoded.length;
    if (encoded.failed)
        return ENOMEM;
    if (encoded.length > HELD_MAX_BYTES)
        return EFBIG;
    make_id(held);
    return 0;
}

/* ---- decoding -------------------------------------------------------------------------------------------------- */

/* `least`: the piece at which it may begin. */
static bool is_in_place(const subtree *known, uint64_t pieces, uint64_t least)
{
    uint64_t first;
    if (known->level > LEVEL_MAX || known->index > pieces >> known->level)
        return false;
    first = known->index << known->level;
    if (known->level > 0 && UINT64_C(1) << known->level == pieces) /* the sum of a whole file is no chaining value */
        return false;
    return first >= least && first < pieces && UINT64_C(1) << known->level <= pieces - first;
}

static bool decode_subtrees(octets_left *from, held_entry *entry, uint64_t pieces)
{
    uint64_t least = 0;
    entry->subtree_count = (uint32_t)octets_take_number(from, 4);
    if (from->failed || entry->subtree_count == 0 || entry->subtree_count > from->length / SUBTREE_BYTES)
        return false;
    entry->subtrees = calloc(entry->subtree_count, sizeof *entry->subtrees);
    for (uint32_t i = 0; entry->subtrees != NULL && i < entry->subtree_count; i++) {
        subtree *known = &entry->subtrees[i];
        known->level = (uint8_t)octets_take_number(from, 1);
        known->index = octets_take_number(from, 8);
        memcpy(known->hash, octets_take(from, PIECE_HASH_BYTES), PIECE_HASH_BYTES);
        if (!is_in_place(known, pieces, least))
            return false;
        least = (known->index + 1) << known->level;
    }
    return entry->subtrees != NULL;
}

/* `least`: the number of the manifest's entry that comes first of all. */
static bool decode_entry(held_list *held, octets_left *from, const manifest *all, uint32_t least)
{
    held_entry *entry = take_entry(held);
    if (entry == NULL)
        return false;
    held->count++; /* held_free() frees what it gets */
    entry->entry = (uint32_t)octets_take_number(from, 4);
    entry->kind = (enum held_kind)octets_take_number(from, 1);
    if (from->failed || entry->entry < least || entry->entry >= all->count || all->entries[entry->entry].size == 0)
        return false;
    if (entry->kind == HELD_SUBTREES)
        return decode_subtrees(from, entry, manifest_pieces(all->entries[entry->entry].size));
    return entry->kind == HELD_COMPLETE || entry->kind == HELD_COMPARE;
}

static bool decode_all(held_list *held, octets_left *from, const manifest *all)
{
    uint32_t least = 0;
    uint32_t count = (uint32_t)octets_take_number(from, 4);
    if (from->failed || count > from->length / ENTRY_LEAST_BYTES)
        return false;
    while (held->count < count) {
        if (!decode_entry(held, from, all, least))
            return false;
        least = held->entries[held->count - 1].entry + 1;
    }
    return from->length == 0;
}

held_list *held_decode(const uint8_t *bytes, uint64_t length, const manifest *all, netblt_failure *failure)
{
    octets_left from = {.at = bytes, .length = (size_t)length};
    held_list *held = length == 0 || length > HELD_MAX_BYTES ? NULL : held_new();
    uint8_t *copy = held == NULL ? NULL : malloc((size_t)length);
    if (copy != NULL && decode_all(held, &from, all)) {
        memcpy(copy, bytes, (size_t)length);
        held->encoded = copy;
        held->encoded_bytes = length;
        make_id(held);
        return held;
    }
    netblt_fail(failure, NETBLT_FAILURE_LOCAL, "the list of what the receiver holds is damaged, or memory is short");
    free(copy);
    held_free(held);
    return NULL;
}
