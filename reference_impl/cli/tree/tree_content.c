/* SPDX-License-Identifier: BSD-2-Clause */
/* The files of one manifest as they are stored: see tree_content.h. */
#include "cli/tree/tree_content.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* ---- what the parts share ---------------------------------------------------------------------------------------- */

int tree_content_fail(const tree_content *content, uint32_t entry, const char *why, netblt_failure *failure)
{
    char path[BENEATH_PATH_BYTES];
    const manifest_entry *of = &content->all->entries[entry];
    bool fits = tree_place_path(content->place, of, path);
    return netblt_fail(failure, NETBLT_FAILURE_LOCAL, "cannot store %s: %s", fits ? path : of->path, why);
}

size_t tree_content_piece_bytes(const manifest_entry *entry, uint64_t piece)
{
    uint64_t left = entry->size - piece * PIECE_BYTES;
    return (size_t)(left < PIECE_BYTES ? left : PIECE_BYTES);
}

int64_t tree_content_now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

void tree_content_key(const manifest_entry *entry, tree_key *key)
{
    uint8_t bytes[BENEATH_PATH_BYTES + 32];
    uint8_t hash[PIECE_HASH_BYTES];
    size_t length = strlen(entry->path) + 1;
    memcpy(bytes, entry->path, length);
    memcpy(bytes + length, &entry->size, sizeof entry->size);
    length += sizeof entry->size;
    memcpy(bytes + length, &entry->mtime_s, sizeof entry->mtime_s);
    length += sizeof entry->mtime_s;
    memcpy(bytes + length, &entry->mtime_ns, sizeof entry->mtime_ns);
    length += sizeof entry->mtime_ns;
    blake3_of(bytes, length, hash);
    memcpy(key->bytes, hash, sizeof key->bytes);
}

/* ---- incomplete files ------------------------------------------------------------------------------------------ */

static int close_one(content_file *file)
{
    int fd = file->fd;
    file->fd = -1;
    return fd < 0 || close(fd) == 0 ? 0 : errno;
}

static content_file *find_open(tree_content *content, uint32_t entry)
{
    for (size_t i = 0; i < CONTENT_OPEN_FILES; i++)
        if (content->open[i].fd >= 0 && content->open[i].entry == entry)
            return &content->open[i];
    return NULL;
}

int tree_content_close_file(tree_content *content, uint32_t entry)
{
    content_file *file = find_open(content, entry);
    return file == NULL ? 0 : close_one(file);
}

static content_file *find_oldest(tree_content *content)
{
    content_file *oldest = &content->open[0];
    for (size_t i = 0; i < CONTENT_OPEN_FILES; i++)
        if (content->open[i].fd < 0 || (oldest->fd >= 0 && content->open[i].used_at < oldest->used_at))
            oldest = &content->open[i];
    return oldest;
}

/* One piece makes the file as long as it is; everything else has its length from the beginning. */
static bool needs_length(const manifest_entry *entry)
{
    return entry->size > PIECE_BYTES || entry->hole_count > 0;
}

/* 0, or an errno value. */
static int open_file(const tree_content *content, content_file *file)
{
    const manifest_entry *of = &content->all->entries[file->entry];
    char name[PARTIAL_KEY_NAME_BYTES];
    struct stat status;
    tree_key key;
    tree_content_key(of, &key);
    tree_partial_key_name(&key, name);
    file->fd = openat(content->dir, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (file->fd < 0 || fstat(file->fd, &status) != 0)
        return errno;
    if (needs_length(of) && (uint64_t)status.st_size != of->size && ftruncate(file->fd, (off_t)of->size) != 0)
        return errno;
    return 0;
}

int tree_content_open_file(tree_content *content, uint32_t entry)
{
    content_file *file = find_open(content, entry);
    int error;
    if (file == NULL) {
        file = find_oldest(content);
        error = close_one(file);
        file->entry = entry;
        if (error == 0)
            error = open_file(content, file);
        if (error != 0) {
            (void)close_one(file);
            errno = error;
            return -1;
        }
    }
    file->used_at = ++content->uses;
    return file->fd;
}

bool tree_content_is_complete(const tree_content *content)
{
    for (uint32_t i = 0; i < content->all->count; i++)
        if (content->entries[i].stage == CONTENT_WANTED || content->entries[i].stage == CONTENT_COMPARE)
            return false;
    return true;
}

void tree_content_free(tree_content *content)
{
    if (content == NULL)
        return;
    tree_sync_free(content->sync);
    tree_journal_free(content->journal);
    for (size_t i = 0; i < CONTENT_OPEN_FILES; i++)
        if (content->open[i].fd >= 0)
            close(content->open[i].fd);
    for (uint32_t i = 0; content->entries != NULL && i < content->all->count; i++)
        piece_tree_free(content->entries[i].pieces);
    free(content->entries);
    free(content->sums);
    free(content->unnamed);
    free(content);
}

/* ---- the held list --------------------------------------------------------------------------------------------- */

static int add_held(held_list *held, const tree_content *content, uint32_t entry)
{
    const content_entry *state = &content->entries[entry];
    held_entry next = {.entry = entry, .kind = HELD_COMPLETE};
    size_t count = state->pieces == NULL ? 0 : piece_tree_count(state->pieces);
    if (content->all->entries[entry].size == 0 || (state->stage == CONTENT_WANTED && count == 0))
        return 0;
    if (state->stage == CONTENT_COMPARE)
        next.kind = HELD_COMPARE;
    else if (state->stage == CONTENT_WANTED) {
        next.kind = HELD_SUBTREES;
        next.subtree_count = (uint32_t)count;
        next.subtrees = (subtree *)piece_tree_list(state->pieces); /* which held_add() copies */
    }
    return held_add(held, &next);
}

held_list *tree_content_held(const tree_content *content, netblt_failure *failure)
{
    held_list *held = held_new();
    int error = held == NULL ? ENOMEM : 0;
    for (uint32_t i = 0; i < content->all->count && error == 0; i++)
        error = add_held(held, content, i);
    if (error == 0)
        error = held_seal(held);
    if (error == 0)
        return held;
    netblt_fail(failure, NETBLT_FAILURE_LOCAL, "cannot list what is held: %s", strerror(error));
    held_free(held);
    return NULL;
}
