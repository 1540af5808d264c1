/* SPDX-License-Identifier: BSD-2-Clause */
/* What the receiver of a tree transfer keeps, over all its steps: see tree_store.h. */
#include "cli/tree/tree_store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/tree/tree_store_state.h"

/* ---- opening and closing --------------------------------------------------------------------------------------- */

void tree_store_prepare(void)
{
    tree_journal_prepare();
}

static tree_store *fail_to_open(tree_store *store, const char *target, const char *why, netblt_failure *failure)
{
    netblt_fail(failure, NETBLT_FAILURE_LOCAL, "cannot store %s: %s", target == NULL ? "files" : target, why);
    tree_store_close(store);
    return NULL;
}

tree_store *tree_store_open(int dir_fd, const char *target, const tree_store_how *how, netblt_failure *failure)
{
    tree_store *store = calloc(1, sizeof *store);
    if (store == NULL) {
        close(dir_fd);
        return fail_to_open(NULL, target, "not enough memory", failure);
    }
    store->dir = dir_fd;
    store->partial = -1;
    store->how = *how;
    store->target = target == NULL ? NULL : strdup(target);
    pthread_mutex_init(&store->mutex, NULL);
    tree_early_init(&store->early);
    tree_place_init(&store->place, dir_fd, store->target, how->replace, how->drop_special_bits);
    tree_store_prepare();
    if (target != NULL && store->target == NULL)
        return fail_to_open(store, target, "not enough memory", failure);
    if (target != NULL && (strchr(target, '/') != NULL || manifest_check_path(target) != NULL ||
                           strncmp(target, PARTIAL_RESERVED_PREFIX, strlen(PARTIAL_RESERVED_PREFIX)) == 0))
        return fail_to_open(store, target, "this name cannot be used", failure);
    if (faccessat(dir_fd, ".", W_OK | X_OK, AT_EACCESS) != 0)
        return fail_to_open(store, target, strerror(errno), failure);
    return store;
}

static void clear_content(tree_store *store)
{
    tree_content_free(store->content);
    store->content = NULL;
    manifest_free(store->all);
    store->all = NULL;
}

static void see_key(void *context, const char *name)
{
    bool *seen = context;
    tree_key key;
    if (tree_partial_parse_key(name, &key))
        *seen = true;
}

/* Whether what is in the partial directory helps the next step or attempt. */
static bool is_worth_keeping(const tree_store *store)
{
    bool seen = store->state == TREE_RESUMES || store->state == TREE_PART_DONE;
    if (!seen)
        (void)tree_partial_visit(store->partial, see_key, &seen);
    return seen;
}

void tree_store_close(tree_store *store)
{
    if (store == NULL)
        return;
    tree_part_clear(store);
    held_free(store->held);
    clear_content(store);
    if (store->partial >= 0 && !is_worth_keeping(store))
        (void)tree_partial_remove(store->dir, store->target, store->partial);
    if (store->partial >= 0)
        close(store->partial);
    tree_place_clear(&store->place);
    close(store->dir);
    free(store->target);
    pthread_mutex_destroy(&store->mutex);
    free(store);
}

bool tree_store_is_left(int dir_fd, const char *target)
{
    return tree_partial_exists(dir_fd, target);
}

int tree_store_directory(const tree_store *store)
{
    return store->dir;
}

/* ---- what other threads see ------------------------------------------------------------------------------------ */

static void show(tree_store *store)
{
    const tree_content *content = store->content;
    pthread_mutex_lock(&store->mutex);
    store->shown_state = store->state;
    store->shown_manifest = store->all;
    store->shown_held = store->state == TREE_RESUMES ? store->held : NULL;
    store->shown_offset = store->end_offset;
    if (content != NULL)
        store->shown_progress = (tree_progress){.files = content->files,
                                                .files_done = content->files_done,
                                                .bytes = content->bytes,
                                                .bytes_done = content->bytes_done,
                                                .bytes_held = content->bytes_held,
                                                .entry = content->last_entry};
    pthread_mutex_unlock(&store->mutex);
}

/* The mutex is no part of what a reader changes. */
static pthread_mutex_t *lock(const tree_store *store)
{
    pthread_mutex_t *mutex = &((tree_store *)store)->mutex;
    pthread_mutex_lock(mutex);
    return mutex;
}

enum tree_state tree_store_state(const tree_store *store)
{
    pthread_mutex_t *mutex = lock(store);
    enum tree_state state = store->shown_state;
    pthread_mutex_unlock(mutex);
    return state;
}

const manifest *tree_store_manifest(const tree_store *store)
{
    pthread_mutex_t *mutex = lock(store);
    const manifest *all = store->shown_manifest;
    pthread_mutex_unlock(mutex);
    return all;
}

const held_list *tree_store_held(const tree_store *store)
{
    pthread_mutex_t *mutex = lock(store);
    const held_list *held = store->shown_held;
    pthread_mutex_unlock(mutex);
    return held;
}

uint64_t tree_store_next_offset(const tree_store *store)
{
    pthread_mutex_t *mutex = lock(store);
    uint64_t offset = store->shown_offset;
    pthread_mutex_unlock(mutex);
    return offset;
}

tree_progress tree_store_progress(const tree_store *store)
{
    pthread_mutex_t *mutex = lock(store);
    tree_progress progress = store->shown_progress;
    pthread_mutex_unlock(mutex);
    return progress;
}

bool tree_store_sum(const tree_store *store, uint32_t entry, uint8_t sum[PIECE_HASH_BYTES])
{
    const tree_content *content = store->content;
    const content_entry *state = content == NULL || entry >= store->all->count ? NULL : &content->entries[entry];
    if (state == NULL || !state->has_sum || (state->stage != CONTENT_CHECKED && state->stage != CONTENT_STORED))
        return false;
    memcpy(sum, content->sums[entry], PIECE_HASH_BYTES);
    return true;
}

enum tree_sum tree_store_sum_kind(const tree_store *store)
{
    return store->header.sum;
}

void tree_store_cancel(tree_store *store)
{
    store->cancelled = true;
}

/* ---- what is kept ---------------------------------------------------------------------------------------------- */

int tree_store_open_partial(tree_store *store, netblt_failure *failure)
{
    if (store->partial >= 0)
        return 0;
    store->partial = tree_partial_open(store->dir, store->target, failure);
    if (store->partial < 0)
        return -1;
    tree_partial_expire(store->dir);
    if (store->how.discard)
        (void)tree_partial_clear(store->partial);
    return 0;
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

int tree_store_use(tree_store *store, manifest *all, netblt_failure *failure)
{
    const tree_content_args args = {.all = all,
                                    .place = &store->place,
                                    .dir = store->partial,
                                    .checksum = store->how.checksum,
                                    .cancelled = &store->cancelled};
    clear_content(store);
    held_free(store->held);
    store->held = NULL;
    show(store);
    tree_place_use(&store->place, all);
    if (check_all(store, all, failure) == 0)
        store->content = tree_content_new(&args, failure);
    if (store->content == NULL) {
        manifest_free(all);
        return -1;
    }
    store->all = all;
    store->is_stale = false;
    return 0;
}

int tree_store_use_kept(tree_store *store, const uint8_t *id, size_t id_bytes, bool *found, netblt_failure *failure)
{
    netblt_failure ignored;
    const char *reason = NULL;
    uint8_t *bytes = NULL;
    size_t length = 0;
    manifest *all;
    *found = false;
    if (store->partial < 0 && !tree_partial_exists(store->dir, store->target))
        return 0;
    if (tree_store_open_partial(store, failure) != 0)
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
    return tree_store_use(store, all, failure);
}

int tree_store_list_held(tree_store *store, netblt_failure *failure)
{
    held_list *held = tree_content_held(store->content, failure);
    int error = held == NULL ? 0 : tree_partial_save(store->partial, "held", held->encoded, held->encoded_bytes);
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

/* ---- parts ----------------------------------------------------------------------------------------------------- */

void tree_store_begin(tree_store *store)
{
    store->follows = store->state == TREE_PART_DONE;
    if (store->state == TREE_DONE)
        store->is_stale = true;
    store->begun = false;
    store->has_header = false;
    store->received = 0;
    store->cancelled = false;
    store->state = TREE_RECEIVES;
    layout_free(store->plan);
    store->plan = NULL;
    tree_early_clear(&store->early);
    show(store);
}

static bool is_over(const tree_store *store)
{
    return store->state != TREE_RECEIVES;
}

int tree_store_write(tree_store *store, uint64_t offset, const uint8_t *bytes, size_t length, netblt_failure *failure)
{
    int result;
    if (is_over(store))
        return 0;
    store->received += length;
    result = tree_part_take(store, offset, bytes, length, failure);
    if (result != 0)
        store->is_stale = true;
    show(store);
    return result;
}

/* Everything is stored: nothing but final names remains. */
static int finish(tree_store *store, netblt_failure *failure)
{
    int error;
    if (tree_content_flush(store->content, store->how.sync, failure) != 0 ||
        tree_finish_all(store->content, failure) != 0)
        return -1;
    error = tree_partial_remove(store->dir, store->target, store->partial);
    if (error == 0 && store->how.sync && syncfs(store->partial) != 0)
        error = errno;
    close(store->partial);
    store->partial = -1;
    store->state = TREE_DONE;
    if (error != 0)
        return netblt_fail(failure, NETBLT_FAILURE_LOCAL, "cannot finish: %s", strerror(error));
    return 0;
}

static int end_part(tree_store *store, uint64_t part_bytes, netblt_failure *failure)
{
    if (!store->begun || store->received != part_bytes)
        return netblt_fail(failure, NETBLT_FAILURE_LOCAL, "the data end too early");
    store->end_offset = store->header.offset + (part_bytes - store->data_start);
    if (store->end_offset < layout_bytes(store->plan)) {
        store->state = TREE_PART_DONE;
        return store->how.sync ? tree_content_flush(store->content, true, failure) : 0;
    }
    if (tree_content_is_complete(store->content))
        return finish(store, failure);
    store->state = TREE_RESUMES;
    return tree_store_list_held(store, failure);
}

int tree_store_end(tree_store *store, uint64_t part_bytes, netblt_failure *failure)
{
    int result;
    if (is_over(store))
        return 0;
    result = end_part(store, part_bytes, failure);
    if (result != 0)
        store->is_stale = true;
    show(store);
    return result;
}

void tree_store_stop(tree_store *store)
{
    netblt_failure ignored;
    if (store->content != NULL && store->state != TREE_DONE)
        (void)tree_content_flush(store->content, true, &ignored);
    tree_early_clear(&store->early);
    show(store);
}

int tree_store_recall(tree_store *store, const uint8_t id[8], netblt_failure *failure)
{
    bool found = true;
    int result = 0;
    tree_store_begin(store);
    if (store->all == NULL || store->is_stale || memcmp(store->all->id, id, 8) != 0)
        result = tree_store_use_kept(store, id, 8, &found, failure);
    if (result == 0 && found)
        result = tree_store_list_held(store, failure);
    else if (result == 0)
        result = netblt_fail(failure, NETBLT_FAILURE_LOCAL, "nothing of this transfer is left");
    store->state = !found ? TREE_CHANGED : result == 0 ? TREE_RESUMES : TREE_RECEIVES;
    show(store);
    return result;
}
