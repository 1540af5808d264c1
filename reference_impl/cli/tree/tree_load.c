/* SPDX-License-Identifier: BSD-2-Clause */
/* What of a tree is there when a transfer of it begins: see tree_load.h. */
#include "cli/tree/tree_load.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/tree/tree_disk.h"

/* ---- keys ------------------------------------------------------------------------------------------------------ */

/* Files whose pieces may be in the partial directory, by their keys. */
typedef struct keyed {
    tree_key key;
    uint32_t entry;
} keyed;

typedef struct load {
    tree_content *content;
    keyed *files;
    size_t count;
    keyed *last; /* that was found; records of a file come one after the other */
    int last_fd; /* its file; -1: it has none that can be used */
    bool has_doubt;
    int error;
} load;

static int compare_keys(const void *one, const void *other)
{
    return memcmp(((const keyed *)one)->key.bytes, ((const keyed *)other)->key.bytes, TREE_KEY_BYTES);
}

static bool list_keys(load *from)
{
    const tree_content *content = from->content;
    from->files = calloc(content->all->count + (size_t)1, sizeof *from->files);
    if (from->files == NULL)
        return false;
    for (uint32_t i = 0; i < content->all->count; i++)
        if (content->entries[i].stage != CONTENT_STORED) {
            keyed *next = &from->files[from->count++];
            tree_content_key(&content->all->entries[i], &next->key);
            next->entry = i;
        }
    if (from->count > 1)
        qsort(from->files, from->count, sizeof *from->files, compare_keys);
    return true;
}

static keyed *find_key(const load *from, const tree_key *key)
{
    const keyed wanted = {.key = *key};
    return bsearch(&wanted, from->files, from->count, sizeof *from->files, compare_keys);
}

/* ---- the journal ----------------------------------------------------------------------------------------------- */

/* The incomplete file of an entry; -1 when it is not there as it should be. Its mode was changed if the process was
 * killed before it got its name. */
static int open_incomplete(const tree_content *content, const keyed *file)
{
    char name[PARTIAL_KEY_NAME_BYTES];
    struct stat status;
    int fd;
    tree_partial_key_name(&file->key, name);
    if (fstatat(content->dir, name, &status, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(status.st_mode) ||
        (uint64_t)status.st_size != content->all->entries[file->entry].size ||
        fchmodat(content->dir, name, 0600, 0) != 0)
        return -1;
    fd = openat(content->dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    return fd;
}

static bool is_of_last(load *from, const tree_key *key)
{
    keyed *file = from->last;
    if (file == NULL || memcmp(file->key.bytes, key->bytes, TREE_KEY_BYTES) != 0) {
        if (from->last_fd >= 0)
            close(from->last_fd);
        file = find_key(from, key);
        from->last = file;
        from->last_fd = file == NULL ? -1 : open_incomplete(from->content, file);
    }
    return from->last_fd >= 0;
}

/* Whether a piece that may not have reached the disk has. What was joined was synced before. */
static bool is_as_recorded(const manifest_entry *of, const subtree *known, int fd)
{
    uint8_t bytes[PIECE_BYTES];
    uint8_t hash[PIECE_HASH_BYTES];
    size_t length;
    if (known->level != 0 || known->index >= manifest_pieces(of->size))
        return false;
    length = tree_content_piece_bytes(of, known->index);
    if (tree_disk_read(fd, bytes, length, known->index * PIECE_BYTES) != 0)
        return false;
    piece_hash(bytes, length, known->index, manifest_pieces(of->size) == 1, hash);
    return memcmp(hash, known->hash, sizeof hash) == 0;
}

static void take_known(void *context, const tree_key *key, const subtree *known, bool certain)
{
    load *from = context;
    const manifest_entry *of;
    content_entry *state;
    int error;
    if (!is_of_last(from, key))
        return;
    of = &from->content->all->entries[from->last->entry];
    state = &from->content->entries[from->last->entry];
    if (!certain && !is_as_recorded(of, known, from->last_fd))
        return;
    if (state->pieces == NULL)
        state->pieces = piece_tree_new(of->size);
    error = state->pieces == NULL ? ENOMEM : piece_tree_add(state->pieces, known);
    if (error == ENOMEM)
        from->error = error;
}

static void take_forget(void *context, const tree_key *key)
{
    load *from = context;
    content_entry *state;
    if (!is_of_last(from, key))
        return;
    state = &from->content->entries[from->last->entry];
    piece_tree_free(state->pieces);
    state->pieces = NULL;
}

/* Everything in a new journal is on disk. */
static int sync_incomplete(const load *from)
{
    size_t count = 0;
    for (size_t i = 0; i < from->count; i++)
        count += from->content->entries[from->files[i].entry].pieces != NULL;
    if (count > SYNC_FILES_MOST)
        return syncfs(from->content->dir) == 0 ? 0 : errno;
    for (size_t i = 0; i < from->count && count > 0; i++) {
        int fd = from->content->entries[from->files[i].entry].pieces == NULL
                     ? -1
                     : open_incomplete(from->content, &from->files[i]);
        int error = fd >= 0 && fdatasync(fd) != 0 && errno != EINVAL ? errno : 0;
        if (fd >= 0)
            close(fd);
        if (error != 0)
            return error;
    }
    return 0;
}

static int write_journal(const load *from, tree_journal *journal)
{
    int error = sync_incomplete(from);
    for (size_t i = 0; i < from->count && error == 0; i++) {
        const piece_tree *pieces = from->content->entries[from->files[i].entry].pieces;
        const subtree *known = pieces == NULL ? NULL : piece_tree_list(pieces);
        size_t count = pieces == NULL ? 0 : piece_tree_count(pieces);
        for (size_t k = 0; k < count && error == 0; k++)
            error = tree_journal_add(journal, &from->files[i].key, &known[k]);
    }
    return error == 0 ? tree_journal_replace(journal) : error;
}

/* Removes what no entry can use: of files that changed or are complete. */
static void remove_useless(void *context, const char *name)
{
    const load *from = context;
    const keyed *file;
    tree_key key;
    if (strcmp(name, PARTIAL_NEW) == 0)
        unlinkat(from->content->dir, name, 0);
    if (!tree_partial_parse_key(name, &key))
        return;
    file = find_key(from, &key);
    if (file == NULL || from->content->entries[file->entry].pieces == NULL)
        unlinkat(from->content->dir, name, 0);
}

static int load_journal(load *from)
{
    const tree_journal_reader reader = {take_known, take_forget, from};
    tree_content *content = from->content;
    int error = list_keys(from) ? tree_journal_read(content->dir, &reader) : ENOMEM;
    if (from->last_fd >= 0)
        close(from->last_fd);
    if (error == 0)
        error = from->error;
    if (error != 0)
        return error;
    (void)tree_partial_visit(content->dir, remove_useless, from);
    content->journal = tree_journal_begin(content->dir);
    return content->journal == NULL ? errno : write_journal(from, content->journal);
}

/* ---- what is there --------------------------------------------------------------------------------------------- */

static void count_stored(tree_content *content, uint32_t entry)
{
    content->files_done++;
    content->bytes_done += content->all->entries[entry].size;
    content->bytes_held += content->all->entries[entry].size;
}

static int look_at(tree_content *content, uint32_t entry, netblt_failure *failure)
{
    const manifest_entry *of = &content->all->entries[entry];
    content_entry *state = &content->entries[entry];
    bool has_content = of->kind == ENTRY_FILE && of->size > 0;
    enum place_found found;
    content->files += of->kind == ENTRY_FILE;
    content->bytes += of->size;
    if (tree_place_look(content->place, of, &found, failure) != 0)
        return -1;
    state->stage = has_content ? CONTENT_WANTED : CONTENT_STORED;
    state->was_there = found == PLACE_SAME;
    if (has_content && content->checksum && (found == PLACE_SAME || found == PLACE_SAME_SIZE))
        state->stage = CONTENT_COMPARE;
    else if (found == PLACE_SAME)
        state->stage = CONTENT_STORED;
    else if (found != PLACE_FREE)
        return tree_place_may_replace(content->place, of, failure);
    if (of->kind == ENTRY_FILE && state->stage == CONTENT_STORED)
        count_stored(content, entry);
    return 0;
}

/* Pieces of a file that are held count; one that is compared and has pieces has been found to differ before. */
static void count_held(tree_content *content)
{
    for (uint32_t i = 0; i < content->all->count; i++) {
        content_entry *state = &content->entries[i];
        const manifest_entry *of = &content->all->entries[i];
        uint64_t pieces = manifest_pieces(of->size);
        if (state->pieces == NULL)
            continue;
        state->stage = CONTENT_WANTED;
        for (uint64_t at = piece_tree_next_known(state->pieces, 0); at < pieces;) {
            uint64_t end = piece_tree_next_unknown(state->pieces, at);
            uint64_t bytes = (end == pieces ? of->size : end * PIECE_BYTES) - at * PIECE_BYTES;
            content->bytes_done += bytes;
            content->bytes_held += bytes;
            at = piece_tree_next_known(state->pieces, end);
        }
    }
}

tree_content *tree_load(const tree_load_args *args, netblt_failure *failure)
{
    tree_content *content = calloc(1, sizeof *content);
    load from = {.content = content, .last_fd = -1};
    int error = ENOMEM;
    netblt_fail(failure, NETBLT_FAILURE_LOCAL, "not enough memory for a list of %u files", args->all->count);
    if (content == NULL)
        return NULL;
    *content = (tree_content){.all = args->all,
                              .place = args->place,
                              .dir = args->dir,
                              .checksum = args->checksum,
                              .cancelled = args->cancelled,
                              .sum = TREE_SUM_BLAKE3,
                              .synced_at_us = tree_content_now_us()};
    for (size_t i = 0; i < CONTENT_OPEN_FILES; i++)
        content->open[i].fd = -1;
    content->entries = calloc(args->all->count + (size_t)1, sizeof *content->entries);
    content->sums = calloc(args->all->count + (size_t)1, sizeof *content->sums);
    content->sync = tree_sync_new();
    if (content->entries == NULL || content->sums == NULL || content->sync == NULL) {
        tree_content_free(content);
        return NULL;
    }
    for (uint32_t i = 0; i < args->all->count; i++)
        if (look_at(content, i, failure) != 0) {
            tree_content_free(content);
            return NULL;
        }
    error = load_journal(&from);
    free(from.files);
    if (error == 0) {
        count_held(content);
        return content;
    }
    netblt_fail(failure, NETBLT_FAILURE_LOCAL, "cannot store files: the journal of what came: %s", strerror(error));
    tree_content_free(content);
    return NULL;
}
