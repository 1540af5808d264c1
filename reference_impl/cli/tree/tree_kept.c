/* SPDX-License-Identifier: BSD-2-Clause */
/* What a store keeps on disk between steps: see tree_kept.h. */
#include "cli/tree/tree_kept.h"

#include <stdlib.h>
#include <string.h>

#include "cli/tree/tree_load.h"

#define EXPIRE_EVERY_US INT64_C(60000000)

void tree_kept_show(tree_store *store)
{
    const tree_content *content = store->content;
    pthread_mutex_lock(&store->mutex);
    store->shown_state = store->state;
    store->shown_manifest = store->all;
    store->shown_held = store->state == TREE_RESUMES ? store->held : NULL;
    store->shown_offset = store->end_offset;
    store->shown_content = store->plan != NULL;
    if (content != NULL)
        store->shown_progress = (tree_progress){.files = content->files,
                                                .files_done = content->files_done,
                                                .bytes = content->bytes,
                                                .bytes_done = content->bytes_done,
                                                .bytes_held = content->bytes_held,
                                                .entry = content->last_entry};
    pthread_mutex_unlock(&store->mutex);
}

/* The whole directory is read, which may be long; netblt listen would do it for each transfer. */
static bool is_time_to_expire(void)
{
    static atomic_int_fast64_t next_us;
    int64_t now_us = tree_content_now_us();
    int64_t due_us = next_us;
    return now_us >= due_us && atomic_compare_exchange_strong(&next_us, &due_us, now_us + EXPIRE_EVERY_US);
}

int tree_kept_open(tree_store *store, netblt_failure *failure)
{
    if (store->partial >= 0)
        return 0;
    store->partial = tree_partial_open(store->dir, store->target, failure);
    if (store->partial < 0)
        return -1;
    if (is_time_to_expire())
        tree_partial_expire(store->dir);
    if (store->how.discard)
        (void)tree_partial_clear(store->partial);
    return 0;
}

void tree_kept_clear(tree_store *store)
{
    tree_content_free(store->content);
    store->content = NULL;
    manifest_free(store->all);
    store->all = NULL;
}

/* Whether an entry may be stored at all. NULL: it may. */
static const char *check_entry(const tree_store *store, const manifest_entry *entry)
{
    const char *part = entry->path;
    while (part != NULL) {
        if (strncmp(part, PARTIAL_RESERVED_PREFIX, strlen(PARTIAL_RESERVED_PREFIX)) == 0)
            return "its name is reserved for files under way";
        part = strchr(part, '/');
        part += part != NULL;
    }
    return store->how.check == NULL ? NULL : store->how.check(store->how.context, entry);
}

static int check_all(const tree_store *store, const manifest *all, netblt_failure *failure)
{
    for (uint32_t i = 0; i < all->count; i++) {
        const char *why = check_entry(store, &all->entries[i]);
        if (why != NULL)
            return netblt_fail(failure, NETBLT_FAILURE_LOCAL, "cannot store %s: %s", all->entries[i].path, why);
    }
    return 0;
}

int tree_kept_use(tree_store *store, manifest *all, netblt_failure *failure)
{
    const tree_load_args args = {.all = all,
                                 .place = &store->place,
                                 .dir = store->partial,
                                 .checksum = store->how.checksum,
                                 .cancelled = &store->cancelled};
    tree_kept_clear(store);
    held_free(store->held);
    store->held = NULL;
    tree_kept_show(store);
    tree_place_use(&store->place, all);
    if (check_all(store, all, failure) == 0)
        store->content = tree_load(&args, failure);
    if (store->content == NULL) {
        manifest_free(all);
        return -1;
    }
    store->all = all;
    store->is_stale = false;
    return 0;
}

int tree_kept_find(tree_store *store, const uint8_t *id, size_t id_bytes, bool *found, netblt_failure *failure)
{
    netblt_failure ignored;
    const char *reason = NULL;
    uint8_t *bytes = NULL;
    size_t length = 0;
    manifest *all;
    *found = false;
    if (store->partial < 0 && !tree_partial_exists(store->dir, store->target))
        return 0;
    if (tree_kept_open(store, failure) != 0)
        return -1;
    bytes = tree_partial_load(store->partial, "manifest", MANIFEST_MAX_BYTES, &length);
    if (bytes != NULL && store->how.claim != NULL)
        reason = store->how.claim(store->how.context, length);
    all = bytes == NULL || reason != NULL ? NULL : manifest_decode(bytes, length, &ignored);
    free(bytes);
    if (reason != NULL)
        return netblt_fail(failure, NETBLT_FAILURE_LOCAL, "%s", reason);
    if (all == NULL || memcmp(all->id, id, id_bytes) != 0) {
        manifest_free(all);
        return 0;
    }
    *found = true;
    return tree_kept_use(store, all, failure);
}

int tree_kept_list_held(tree_store *store, netblt_failure *failure)
{
    held_list *held = tree_content_held(store->content, failure);
    int error = 0;
    if (held != NULL && held->count > 0) /* an empty list is known without a file */
        error = tree_partial_save(store->partial, "held", held->encoded, held->encoded_bytes);
    if (error != 0) {
        netblt_fail(failure, NETBLT_FAILURE_LOCAL, "cannot store what is held: %s", strerror(error));
        held_free(held);
        held = NULL;
    }
    if (held == NULL)
        return -1;
    held_free(store->held);
    store->held = held;
    return 0;
}
