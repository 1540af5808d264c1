/* SPDX-License-Identifier: BSD-2-Clause */
/* What the receiver of a tree transfer keeps, over all its steps: see tree_store.h. */
#include "cli/tree/tree_store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/tree/tree_finish.h"
#include "cli/tree/tree_kept.h"
#include "cli/tree/tree_pace.h"
#include "cli/tree/tree_part.h"

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
    tree_kept_clear(store);
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

bool tree_store_takes_content(const tree_store *store)
{
    pthread_mutex_t *mutex = lock(store);
    bool takes = store->shown_content;
    pthread_mutex_unlock(mutex);
    return takes;
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
    tree_kept_show(store);
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
    tree_kept_show(store);
    return result;
}

/* The final names are on disk: that of one file, or all. */
static int sync_names(const tree_store *store)
{
    bool is_one_file = store->all->count == 1 && store->all->entries[0].kind == ENTRY_FILE;
    int dir = is_one_file ? openat(store->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    int error = 0;
    if (dir < 0)
        return syncfs(store->partial) == 0 ? 0 : errno;
    if (fsync(dir) != 0 && errno != EINVAL)
        error = errno;
    close(dir);
    return error;
}

/* Everything is stored: nothing but final names remains. */
static int finish(tree_store *store, netblt_failure *failure)
{
    int error;
    if (tree_pace_finish(store->content, store->how.sync, failure) != 0 ||
        tree_finish_all(store->content, failure) != 0)
        return -1;
    error = tree_partial_remove(store->dir, store->target, store->partial);
    if (error == 0 && store->how.sync)
        error = sync_names(store);
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
        return store->how.sync ? tree_pace_keep(store->content, failure) : 0;
    }
    if (tree_content_is_complete(store->content))
        return finish(store, failure);
    store->state = TREE_RESUMES;
    return tree_kept_list_held(store, failure);
}

int tree_store_end(tree_store *store, uint64_t part_bytes, netblt_failure *failure)
{
    int result;
    if (is_over(store))
        return 0;
    result = end_part(store, part_bytes, failure);
    if (result != 0)
        store->is_stale = true;
    tree_kept_show(store);
    return result;
}

void tree_store_stop(tree_store *store)
{
    netblt_failure ignored;
    if (store->content != NULL && store->state != TREE_DONE)
        (void)tree_pace_keep(store->content, &ignored);
    tree_early_clear(&store->early);
    tree_kept_show(store);
}

int tree_store_recall(tree_store *store, const uint8_t id[8], netblt_failure *failure)
{
    bool found = true;
    int result = 0;
    tree_store_begin(store);
    if (store->all == NULL || store->is_stale || memcmp(store->all->id, id, 8) != 0)
        result = tree_kept_find(store, id, 8, &found, failure);
    if (result == 0 && found)
        result = tree_kept_list_held(store, failure);
    else if (result == 0)
        result = netblt_fail(failure, NETBLT_FAILURE_LOCAL, "nothing of this transfer is left");
    store->state = !found ? TREE_CHANGED : result == 0 ? TREE_RESUMES : TREE_RECEIVES;
    tree_kept_show(store);
    return result;
}
