/* SPDX-License-Identifier: BSD-2-Clause */
/* One part of a tree transfer as its bytes come, in any order: header, manifest, content. See tree_part.h. */
#include "cli/tree/tree_part.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/tree/tree_kept.h"
#include "cli/tree/tree_pace.h"
#include "cli/tree/tree_take.h"

/* What is read back at once of what came early. */
#define REPLAY_BYTES ((size_t)1 << 20)
/* Memory for incomplete pieces is claimed in such steps. */
#define PENDING_CLAIM_BYTES ((size_t)4 << 20)

void tree_part_clear(tree_store *store)
{
    tree_early_clear(&store->early);
    tree_pending_clear(&store->pending);
    layout_free(store->plan);
    store->plan = NULL;
}

/* ---- the content ----------------------------------------------------------------------------------------------- */

static int take_unit(tree_store *store, const pending_unit *unit, netblt_failure *failure)
{
    if (unit->is_sum)
        return tree_take_sum(store->content, unit->entry, unit->bytes, failure);
    return tree_take_piece(store->content, unit->entry, unit->piece, unit->bytes, unit->length,
                           unit->bytes + unit->length, failure);
}

static int fail_in_memory(int error, netblt_failure *failure)
{
    return netblt_fail(failure, NETBLT_FAILURE_LOCAL, "cannot store files: %s",
                       error == EOVERFLOW ? "too many pieces are incomplete" : strerror(error));
}

/* Before one more piece is incomplete. Each buffer that is outstanding may leave two, which are within the first
 * step. 0, or -1 with *failure. */
static int claim_pieces(tree_store *store, netblt_failure *failure)
{
    const char *reason = NULL;
    if (store->how.claim_pieces == NULL || store->pending.bytes < store->pending_claimed + PENDING_CLAIM_BYTES)
        return 0;
    reason = store->how.claim_pieces(store->how.context, PENDING_CLAIM_BYTES);
    if (reason != NULL)
        return netblt_fail(failure, NETBLT_FAILURE_LOCAL, "%s", reason);
    store->pending_claimed += PENDING_CLAIM_BYTES;
    return 0;
}

/* What is not whole in the memory at hand. */
static int take_fragment(tree_store *store, const layout_run *run, const uint8_t *bytes, size_t length,
                         netblt_failure *failure)
{
    const manifest_entry *of = &store->all->entries[run->entry];
    pending_unit *whole;
    int result = 0;
    int error;
    if (claim_pieces(store, failure) != 0)
        return -1;
    error = tree_pending_take(&store->pending, run, tree_content_piece_bytes(of, run->piece), bytes, length, &whole);
    if (error != 0)
        return fail_in_memory(error, failure);
    if (whole != NULL)
        result = take_unit(store, whole, failure);
    free(whole);
    return result;
}

/* Bytes of the content from `offset` on. */
static int take_content(tree_store *store, uint64_t offset, const uint8_t *bytes, size_t length,
                        netblt_failure *failure)
{
    uint64_t end = layout_bytes(store->plan);
    int result = 0;
    if (offset > end || length > end - offset)
        return netblt_fail(failure, NETBLT_FAILURE_LOCAL, "the data are longer than the list of files states");
    while (length > 0 && result == 0) {
        layout_run run = layout_at(store->plan, offset);
        size_t taken = run.length < length ? run.length : length;
        if (run.kind == LAYOUT_BYTES && run.skip == 0 && length >= (size_t)run.length + PIECE_HASH_BYTES) {
            taken = (size_t)run.length + PIECE_HASH_BYTES;
            result =
                tree_take_piece(store->content, run.entry, run.piece, bytes, run.length, bytes + run.length, failure);
        } else if (run.kind == LAYOUT_FILE_SUM && run.length == PIECE_HASH_BYTES && taken == PIECE_HASH_BYTES) {
            result = tree_take_sum(store->content, run.entry, bytes, failure);
        } else {
            result = take_fragment(store, &run, bytes, taken, failure);
        }
        offset += taken;
        bytes += taken;
        length -= taken;
    }
    return result == 0 ? tree_pace_tend(store->content, failure) : result;
}

/* ---- the beginning --------------------------------------------------------------------------------------------- */

static bool is_same_manifest(const tree_store *store)
{
    return store->all != NULL && !store->is_stale &&
           memcmp(store->all->id, store->header.manifest_id, sizeof store->header.manifest_id) == 0;
}

/* `list` is the manifest that follows the header. */
static int take_manifest(tree_store *store, const uint8_t *list, netblt_failure *failure)
{
    uint8_t hash[PIECE_HASH_BYTES];
    manifest *all;
    int error;
    blake3_of(list, (size_t)store->header.list_bytes, hash);
    if (memcmp(hash, store->header.manifest_id, sizeof store->header.manifest_id) != 0)
        return netblt_fail(failure, NETBLT_FAILURE_LOCAL, "the list of files is damaged: its hash is another one");
    if (is_same_manifest(store))
        return 0;
    all = manifest_decode(list, store->header.list_bytes, failure);
    if (all == NULL || tree_kept_open(store, failure) != 0) {
        manifest_free(all);
        return -1;
    }
    error = tree_partial_save(store->partial, "manifest", list, (size_t)store->header.list_bytes);
    if (error == 0)
        return tree_kept_use(store, all, failure);
    manifest_free(all);
    return netblt_fail(failure, NETBLT_FAILURE_LOCAL, "cannot store the list of files: %s", strerror(error));
}

static int find_manifest(tree_store *store, const uint8_t *list, netblt_failure *failure)
{
    bool found = true;
    int result = 0;
    if (store->header.has_manifest)
        return take_manifest(store, list, failure);
    if (!is_same_manifest(store))
        result = tree_kept_find(store, store->header.manifest_id, sizeof store->header.manifest_id, &found, failure);
    if (result == 0 && !found)
        store->state = TREE_CHANGED;
    return result;
}

static bool is_held_list(const tree_store *store)
{
    return store->held != NULL && memcmp(store->held->id, store->header.held_id, HELD_ID_BYTES) == 0;
}

/* The list that another process sent, or this one before it was started again. */
static void recall_held(tree_store *store)
{
    netblt_failure ignored;
    size_t length = 0;
    uint8_t *bytes = store->partial < 0 ? NULL : tree_partial_load(store->partial, "held", HELD_MAX_BYTES, &length);
    held_list *held = bytes == NULL ? NULL : held_decode(bytes, length, store->all, &ignored);
    free(bytes);
    if (held == NULL)
        return;
    held_free(store->held);
    store->held = held;
}

/* Finds the held list for which the content was made, or asks for the content to be made for the right one. */
static int find_held(tree_store *store, const held_list **held, netblt_failure *failure)
{
    static const uint8_t nothing[HELD_ID_BYTES];
    bool for_nothing = memcmp(store->header.held_id, nothing, HELD_ID_BYTES) == 0;
    *held = NULL;
    if (for_nothing && !store->header.has_manifest) /* the next part of a first transfer, which does hold something */
        return 0;
    if (!for_nothing && !is_held_list(store))
        recall_held(store);
    if (!for_nothing && is_held_list(store)) {
        *held = store->held;
        return 0;
    }
    if (tree_kept_list_held(store, failure) != 0)
        return -1;
    if (!for_nothing || store->held->count > 0)
        store->state = TREE_RESUMES;
    return 0;
}

/* Header and manifest have come. */
static int begin(tree_store *store, const uint8_t *list, netblt_failure *failure)
{
    const held_list *held;
    store->begun = true;
    store->data_start = TREE_HEADER_BYTES + store->header.list_bytes;
    if (find_manifest(store, list, failure) != 0)
        return -1;
    if (store->state != TREE_RECEIVES)
        return 0;
    if (find_held(store, &held, failure) != 0)
        return -1;
    if (store->state != TREE_RECEIVES)
        return 0;
    if (!store->follows || store->header.offset != store->end_offset)
        tree_pending_clear(&store->pending);
    store->content->sum = store->header.sum;
    store->plan = layout_new(store->all, held);
    if (store->plan == NULL)
        return fail_in_memory(ENOMEM, failure);
    if (store->header.offset > layout_bytes(store->plan))
        return netblt_fail(failure, NETBLT_FAILURE_LOCAL, "the data begin beyond the end of what is listed");
    return 0;
}

static int take_header(tree_store *store, const uint8_t bytes[TREE_HEADER_BYTES], netblt_failure *failure)
{
    const char *reason = NULL;
    if (tree_header_decode(bytes, &store->header, failure) != 0)
        return -1;
    store->has_header = true;
    if (store->header.data != TREE_CONTENT)
        return netblt_fail(failure, NETBLT_FAILURE_LOCAL, "the data are a held list, and not files");
    if (store->header.list_bytes > MANIFEST_MAX_BYTES)
        return netblt_fail(failure, NETBLT_FAILURE_LOCAL, "the list of files is too long: %llu bytes",
                           (unsigned long long)store->header.list_bytes);
    if (store->header.has_manifest && store->how.claim != NULL)
        reason = store->how.claim(store->how.context, store->header.list_bytes);
    return reason == NULL ? 0 : netblt_fail(failure, NETBLT_FAILURE_LOCAL, "%s", reason);
}

/* The content that follows bytes of the beginning, or that lies in them: from `offset` of the part on. */
static int take_rest(tree_store *store, uint64_t offset, const uint8_t *bytes, size_t length, netblt_failure *failure)
{
    if (store->state != TREE_RECEIVES || offset + length <= store->data_start)
        return 0;
    if (offset < store->data_start) {
        size_t skip = (size_t)(store->data_start - offset);
        bytes += skip;
        length -= skip;
        offset = store->data_start;
    }
    return take_content(store, store->header.offset + (offset - store->data_start), bytes, length, failure);
}

/* ---- what comes before the beginning is whole ------------------------------------------------------------------ */

static int replay(tree_store *store, netblt_failure *failure)
{
    uint8_t *bytes = malloc(REPLAY_BYTES);
    int result = bytes == NULL ? fail_in_memory(ENOMEM, failure) : 0;
    for (size_t i = 0; i < store->early.ranges.count && result == 0; i++) {
        byte_range range = store->early.ranges.all[i];
        while (range.from < range.to && result == 0) {
            size_t length = (size_t)(range.to - range.from < REPLAY_BYTES ? range.to - range.from : REPLAY_BYTES);
            int error = tree_early_read(&store->early, range.from, bytes, length);
            result = error != 0 ? fail_in_memory(error, failure) : take_rest(store, range.from, bytes, length, failure);
            range.from += length;
        }
    }
    free(bytes);
    tree_early_clear(&store->early);
    return result;
}

/* The manifest has come, in several buffers. */
static int begin_early(tree_store *store, netblt_failure *failure)
{
    size_t length = (size_t)store->header.list_bytes;
    uint8_t *list = malloc(length == 0 ? 1 : length);
    int error = list == NULL ? ENOMEM : tree_early_read(&store->early, TREE_HEADER_BYTES, list, length);
    int result = error == 0 ? begin(store, list, failure) : fail_in_memory(error, failure);
    free(list);
    return result == 0 ? replay(store, failure) : result;
}

static int keep_early(tree_store *store, uint64_t offset, const uint8_t *bytes, size_t length, netblt_failure *failure)
{
    uint8_t header[TREE_HEADER_BYTES];
    uint64_t prefix;
    int error;
    if (tree_kept_open(store, failure) != 0)
        return -1;
    error = tree_early_add(&store->early, store->partial, offset, bytes, length);
    prefix = tree_early_prefix(&store->early);
    if (error == 0 && !store->has_header && prefix >= TREE_HEADER_BYTES) {
        error = tree_early_read(&store->early, 0, header, sizeof header);
        if (error == 0 && take_header(store, header, failure) != 0)
            return -1;
    }
    if (error != 0)
        return fail_in_memory(error, failure);
    return store->has_header && prefix >= TREE_HEADER_BYTES + store->header.list_bytes ? begin_early(store, failure)
                                                                                       : 0;
}

int tree_part_take(tree_store *store, uint64_t offset, const uint8_t *bytes, size_t length, netblt_failure *failure)
{
    if (store->begun)
        return take_rest(store, offset, bytes, length, failure);
    if (offset != 0 || length < TREE_HEADER_BYTES)
        return keep_early(store, offset, bytes, length, failure);
    if (take_header(store, bytes, failure) != 0)
        return -1;
    if (store->early.ranges.count > 0 || length < TREE_HEADER_BYTES + store->header.list_bytes)
        return keep_early(store, offset, bytes, length, failure);
    if (begin(store, bytes + TREE_HEADER_BYTES, failure) != 0)
        return -1;
    return take_rest(store, offset, bytes, length, failure);
}
