/* SPDX-License-Identifier: BSD-2-Clause */
/* The manifest of a tree transfer, encoded and decoded: see manifest.h. */
#include "cli/tree/manifest.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/tree/grow.h"
#include "cli/tree/octets.h"
#include "cli/tree/piece_hash.h"

/* ---- memory: entries are many and small, and are freed all at once ------------------------------------------------
 */

#define CHUNK_BYTES ((size_t)65536)
#define ALIGNMENT sizeof(uint64_t)

typedef struct manifest_chunk {
    struct manifest_chunk *next;
    size_t used;
    size_t capacity;
    uint64_t bytes[]; /* aligned for holes */
} manifest_chunk;

/* NULL when memory is short. */
static void *take_memory(manifest *all, size_t bytes)
{
    size_t needed = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    manifest_chunk *chunk = all->memory;
    void *taken;
    if (chunk == NULL || chunk->capacity - chunk->used < needed) {
        size_t capacity = needed > CHUNK_BYTES ? needed : CHUNK_BYTES;
        chunk = malloc(sizeof *chunk + capacity);
        if (chunk == NULL)
            return NULL;
        *chunk = (manifest_chunk){.next = all->memory, .capacity = capacity};
        all->memory = chunk;
    }
    taken = (uint8_t *)chunk->bytes + chunk->used;
    chunk->used += needed;
    return taken;
}

static char *copy_text(manifest *all, const void *text, size_t length)
{
    char *copy = take_memory(all, length + 1);
    if (copy == NULL)
        return NULL;
    memcpy(copy, text, length);
    copy[length] = '\0';
    return copy;
}

/* The next entry, all zero. NULL when memory is short. */
static manifest_entry *take_entry(manifest *all)
{
    manifest_entry *entries = grow(all->entries, all->count, &all->capacity, sizeof *entries);
    if (entries == NULL)
        return NULL;
    all->entries = entries;
    memset(&all->entries[all->count], 0, sizeof *all->entries);
    return &all->entries[all->count];
}

manifest *manifest_new(void)
{
    return calloc(1, sizeof(manifest));
}

void manifest_free(manifest *all)
{
    if (all == NULL)
        return;
    while (all->memory != NULL) {
        manifest_chunk *next = all->memory->next;
        free(all->memory);
        all->memory = next;
    }
    free(all->entries);
    free(all->encoded);
    free(all);
}

int manifest_add(manifest *all, const manifest_entry *entry)
{
    manifest_entry *copy = take_entry(all);
    size_t hole_bytes = entry->hole_count * sizeof *entry->holes;
    if (copy == NULL)
        return ENOMEM;
    *copy = *entry;
    copy->path = copy_text(all, entry->path, strlen(entry->path));
    copy->target = entry->target == NULL ? NULL : copy_text(all, entry->target, strlen(entry->target));
    copy->holes = hole_bytes == 0 ? NULL : take_memory(all, hole_bytes);
    if (copy->path == NULL || (copy->target == NULL) != (entry->target == NULL) ||
        (copy->holes == NULL) != (hole_bytes == 0))
        return ENOMEM;
    if (hole_bytes != 0)
        memcpy(copy->holes, entry->holes, hole_bytes);
    all->count++;
    return 0;
}

/* ---- encoding -------------------------------------------------------------------------------------------------- */

static void add_text(octets *to, const char *text)
{
    size_t length = strlen(text);
    octets_add_number(to, length, 2);
    octets_add(to, text, length);
}

static void encode_entry(octets *to, const manifest_entry *entry)
{
    octets_add_number(to, entry->kind, 1);
    octets_add_number(to, entry->mode, 2);
    octets_add_number(to, (uint64_t)entry->mtime_s, 8);
    octets_add_number(to, entry->mtime_ns, 4);
    add_text(to, entry->path);
    if (entry->kind == ENTRY_LINK)
        add_text(to, entry->target);
    if (entry->kind != ENTRY_FILE)
        return;
    octets_add_number(to, entry->size, 8);
    octets_add_number(to, entry->hole_count, 4);
    for (uint32_t i = 0; i < entry->hole_count; i++) {
        octets_add_number(to, entry->holes[i].first, 8);
        octets_add_number(to, entry->holes[i].count, 8);
    }
}

static int compare_entries(const void *one, const void *other)
{
    return manifest_compare_paths(((const manifest_entry *)one)->path, ((const manifest_entry *)other)->path);
}

int manifest_seal(manifest *all, netblt_failure *failure)
{
    octets encoded = {0};
    if (all->count > 1)
        qsort(all->entries, all->count, sizeof *all->entries, compare_entries);
    if (manifest_check(all, failure) != 0)
        return -1;
    octets_add_number(&encoded, all->count, 4);
    for (uint32_t i = 0; i < all->count; i++)
        encode_entry(&encoded, &all->entries[i]);
    all->encoded = encoded.bytes;
    all->encoded_bytes = encoded.length;
    if (encoded.failed)
        return netblt_fail(failure, NETBLT_FAILURE_LOCAL, "not enough memory for a list of %u files", all->count);
    if (encoded.length > MANIFEST_MAX_BYTES)
        return netblt_fail(failure, NETBLT_FAILURE_LOCAL,
                           "%u files are too many for one transfer: their list has more than %llu MiB", all->count,
                           (unsigned long long)(MANIFEST_MAX_BYTES >> 20));
    blake3_of(all->encoded, all->encoded_bytes, all->id);
    return 0;
}

/* ---- decoding -------------------------------------------------------------------------------------------------- */

/* NULL when bytes or memory are short, or the text contains a NUL. */
static char *take_text(manifest *all, octets_left *from)
{
    size_t length = (size_t)octets_take_number(from, 2);
    const uint8_t *text = octets_take(from, length);
    return text == NULL || memchr(text, '\0', length) != NULL ? NULL : copy_text(all, text, length);
}

static bool decode_holes(manifest *all, octets_left *from, manifest_entry *entry)
{
    entry->hole_count = (uint32_t)octets_take_number(from, 4);
    if (from->failed || entry->hole_count > from->length / 16)
        return false;
    if (entry->hole_count == 0)
        return true;
    entry->holes = take_memory(all, entry->hole_count * sizeof *entry->holes);
    for (uint32_t i = 0; entry->holes != NULL && i < entry->hole_count; i++) {
        entry->holes[i].first = octets_take_number(from, 8);
        entry->holes[i].count = octets_take_number(from, 8);
    }
    return entry->holes != NULL;
}

static bool decode_entry(manifest *all, octets_left *from)
{
    manifest_entry *entry = take_entry(all);
    if (entry == NULL)
        return false;
    entry->kind = (enum entry_kind)octets_take_number(from, 1);
    entry->mode = (uint16_t)octets_take_number(from, 2);
    entry->mtime_s = (int64_t)octets_take_number(from, 8);
    entry->mtime_ns = (uint32_t)octets_take_number(from, 4);
    entry->path = take_text(all, from);
    if (entry->path == NULL)
        return false;
    if (entry->kind == ENTRY_LINK)
        entry->target = take_text(all, from);
    if (entry->kind == ENTRY_LINK && entry->target == NULL)
        return false;
    if (entry->kind == ENTRY_FILE) {
        entry->size = octets_take_number(from, 8);
        if (!decode_holes(all, from, entry))
            return false;
    }
    all->count++;
    return !from->failed;
}

static bool decode_all(manifest *all, octets_left *from, netblt_failure *failure)
{
    uint32_t count = (uint32_t)octets_take_number(from, 4);
    while (all->count < count)
        if (!decode_entry(all, from)) {
            netblt_fail(failure, NETBLT_FAILURE_LOCAL,
                        "the list of files is damaged in entry %u of %u, or memory is short", all->count + 1, count);
            return false;
        }
    if (!from->failed && from->length == 0)
        return manifest_check(all, failure) == 0;
    netblt_fail(failure, NETBLT_FAILURE_LOCAL, "the list of files is damaged: it does not end with its last entry");
    return false;
}

manifest *manifest_decode(const uint8_t *bytes, uint64_t length, netblt_failure *failure)
{
    octets_left from = {.at = bytes, .length = (size_t)length};
    manifest *all = length > MANIFEST_MAX_BYTES ? NULL : manifest_new();
    uint8_t *copy = all == NULL ? NULL : malloc(length == 0 ? 1 : (size_t)length);
    if (copy == NULL) {
        netblt_fail(failure, NETBLT_FAILURE_LOCAL, "the list of files is too long: %llu bytes",
                    (unsigned long long)length);
        manifest_free(all);
        return NULL;
    }
    memcpy(copy, bytes, (size_t)length);
    all->encoded = copy;
    all->encoded_bytes = length;
    blake3_of(copy, (size_t)length, all->id);
    if (decode_all(all, &from, failure))
        return all;
    manifest_free(all);
    return NULL;
}

uint64_t manifest_data_bytes(const manifest_entry *entry)
{
    uint64_t bytes = entry->size;
    for (uint32_t i = 0; i < entry->hole_count; i++) {
        uint64_t begin = entry->holes[i].first * PIECE_BYTES;
        uint64_t end = begin + entry->holes[i].count * PIECE_BYTES;
        bytes -= (end < entry->size ? end : entry->size) - begin;
    }
    return bytes;
}
