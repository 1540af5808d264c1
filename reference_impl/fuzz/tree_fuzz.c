/* SPDX-License-Identifier: BSD-2-Clause */
/* Fuzz target: the lists of a tree transfer as a peer sends them: header, manifest, held list, and the layout of the
 * content that follows from them. */
#include <string.h>

#include "bytes.h"
#include "cli/tree/layout.h"
#include "cli/tree/tree_header.h"
#include "fuzz.h"

#define CHECK_BYTES 8
#define PLACES 64 /* in the content that are looked at */

/* What can be read can be written again with the same bytes, but for flags that mean nothing. */
static void try_header(const uint8_t *data, size_t size)
{
    uint8_t bytes[TREE_HEADER_BYTES] = {0};
    uint8_t again[TREE_HEADER_BYTES];
    uint8_t hash[PIECE_HASH_BYTES];
    tree_header header;
    netblt_failure failure;
    memcpy(bytes, data, size < sizeof bytes ? size : sizeof bytes);
    blake3_of(bytes, sizeof bytes - CHECK_BYTES, hash);
    memcpy(bytes + sizeof bytes - CHECK_BYTES, hash, CHECK_BYTES);
    if (tree_header_decode(bytes, &header, &failure) != 0)
        return;
    tree_header_encode(&header, again);
    FUZZ_CHECK(memcmp(bytes, again, sizeof bytes) == 0);
}

/* No path leads out of the directory in which it is stored, and nothing lies beneath what is no directory. */
static void check_path(const manifest *all, uint32_t entry)
{
    const char *path = all->entries[entry].path;
    const char *slash = strrchr(path, '/');
    size_t parent = slash == NULL ? 0 : (size_t)(slash - path);
    uint32_t at = entry;
    FUZZ_CHECK(path[0] != '\0' && path[0] != '/' && strstr(path, "//") == NULL && path[strlen(path) - 1] != '/');
    FUZZ_CHECK(strcmp(path, "..") != 0 && strncmp(path, "../", 3) != 0 && strstr(path, "/../") == NULL);
    FUZZ_CHECK(strlen(path) < 3 || strcmp(path + strlen(path) - 3, "/..") != 0);
    if (parent == 0)
        return;
    while (at > 0 &&
           (strncmp(all->entries[at - 1].path, path, parent) != 0 || all->entries[at - 1].path[parent] != '\0'))
        at--;
    FUZZ_CHECK(at > 0 && all->entries[at - 1].kind == ENTRY_DIRECTORY);
}

static void check_holes(const manifest_entry *file)
{
    uint64_t pieces = manifest_pieces(file->size);
    uint64_t end = 0;
    for (uint32_t i = 0; i < file->hole_count; i++) {
        const hole *here = &file->holes[i];
        FUZZ_CHECK(here->count > 0 && here->first < pieces && here->count <= pieces - here->first);
        FUZZ_CHECK(i == 0 || here->first > end);
        end = here->first + here->count;
    }
}

static void check_subtrees(const held_entry *held, uint64_t pieces)
{
    uint64_t end = 0;
    for (uint32_t i = 0; i < held->subtree_count; i++) {
        const subtree *known = &held->subtrees[i];
        FUZZ_CHECK(known->level < 47);
        FUZZ_CHECK(known->index < (pieces >> known->level) && known->index << known->level >= end);
        end = (known->index + 1) << known->level;
    }
}

static void rewrite_manifest(const manifest *all)
{
    netblt_failure failure;
    manifest *again = manifest_new();
    FUZZ_CHECK(again != NULL);
    for (uint32_t i = 0; i < all->count; i++) {
        check_path(all, i);
        check_holes(&all->entries[i]);
        FUZZ_CHECK(manifest_add(again, &all->entries[i]) == 0);
    }
    FUZZ_CHECK(manifest_seal(again, &failure) == 0);
    FUZZ_CHECK(again->encoded_bytes == all->encoded_bytes);
    FUZZ_CHECK(memcmp(again->encoded, all->encoded, (size_t)all->encoded_bytes) == 0);
    manifest_free(again);
}

static void rewrite_held(const held_list *held, const manifest *all)
{
    held_list *again = held_new();
    FUZZ_CHECK(again != NULL);
    for (uint32_t i = 0; i < held->count; i++) {
        FUZZ_CHECK(held->entries[i].entry < all->count);
        check_subtrees(&held->entries[i], manifest_pieces(all->entries[held->entries[i].entry].size));
        FUZZ_CHECK(held_add(again, &held->entries[i]) == 0);
    }
    FUZZ_CHECK(held_seal(again) == 0);
    FUZZ_CHECK(again->encoded_bytes == held->encoded_bytes);
    FUZZ_CHECK(memcmp(again->encoded, held->encoded, (size_t)held->encoded_bytes) == 0);
    held_free(again);
}

static void check_run(const manifest *all, const layout_run *run)
{
    FUZZ_CHECK(run->entry < all->count);
    FUZZ_CHECK(run->length > 0 && run->length <= PIECE_BYTES);
    if (run->kind == LAYOUT_FILE_SUM)
        return;
    FUZZ_CHECK(run->piece < manifest_pieces(all->entries[run->entry].size));
    if (run->kind != LAYOUT_BYTES)
        return;
    FUZZ_CHECK(run->file_offset == run->piece * PIECE_BYTES + run->skip);
    FUZZ_CHECK(run->file_offset + run->length <= all->entries[run->entry].size);
}

/* Runs follow one another from the beginning on, and wherever the content is entered. */
static void walk_layout(const manifest *all, const held_list *held)
{
    layout *plan = layout_new(all, held);
    uint64_t offset = 0;
    FUZZ_CHECK(plan != NULL);
    FUZZ_CHECK(layout_file_bytes(plan) <= layout_bytes(plan));
    for (unsigned i = 0; i < PLACES && offset < layout_bytes(plan); i++) {
        layout_run run = layout_at(plan, offset);
        check_run(all, &run);
        FUZZ_CHECK(run.length <= layout_bytes(plan) - offset);
        offset += run.length;
    }
    for (unsigned i = 1; i < PLACES && layout_bytes(plan) > 0; i++) {
        layout_run run = layout_at(plan, layout_bytes(plan) / PLACES * i);
        check_run(all, &run);
    }
    layout_free(plan);
}

/* Two bytes with the length of the manifest, the manifest, the held list. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bytes in = {data, size};
    netblt_failure failure;
    size_t length = take16(&in);
    manifest *all;
    held_list *held;
    try_header(data, size);
    if (length > in.left)
        length = in.left;
    all = manifest_decode(in.at, length, &failure);
    if (all == NULL)
        return 0;
    rewrite_manifest(all);
    walk_layout(all, NULL);
    held = held_decode(in.at + length, in.left - length, all, &failure);
    if (held != NULL) {
        rewrite_held(held, all);
        walk_layout(all, held);
    }
    held_free(held);
    manifest_free(all);
    return 0;
}
