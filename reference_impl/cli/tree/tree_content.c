/* SPDX-License-Identifier: BSD-2-Clause */
/* Pieces and sums of a tree's files as they come: verified, stored, journalled. See tree_content.h. */
#include "cli/tree/tree_content.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli/tree/tree_disk.h"
#include "cli/tree/tree_sum.h"

/* What is lost when the host fails, at most, if the disk keeps up. */
#define SYNC_AFTER_BYTES (UINT64_C(64) << 20)
#define SYNC_AFTER_US INT64_C(1000000)

/* ---- helpers --------------------------------------------------------------------------------------------------- */

int tree_content_fail(const tree_content *content, uint32_t entry, const char *why, netblt_failure *failure)
{
    char path[BENEATH_PATH_BYTES];
    const manifest_entry *of = &content->all->entries[entry];
    bool fits = tree_place_path(content->place, of, path);
    return netblt_fail(failure, NETBLT_FAILURE_LOCAL, "cannot store %s: %s", fits ? path : of->path, why);
}

static int fail_of(const tree_content *content, uint32_t entry, int error, netblt_failure *failure)
{
    return tree_content_fail(content, entry, strerror(error), failure);
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

/* ---- incomplete files ------------------------------------------------------------------------------------------ */

static int close_file(content_file *file)
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
        error = close_file(file);
        file->entry = entry;
        if (error == 0)
            error = open_file(content, file);
        if (error != 0) {
            (void)close_file(file);
            errno = error;
            return -1;
        }
    }
    file->used_at = ++content->uses;
    return file->fd;
}

static void note_dirty(tree_content *content, uint32_t entry, size_t length)
{
    content->dirty_bytes += length;
    content->last_entry = entry;
    for (size_t i = 0; i < content->dirty_count; i++)
        if (content->dirty[i] == entry)
            return;
    if (content->dirty_count < SYNC_FILES_MOST)
        content->dirty[content->dirty_count++] = entry;
    else
        content->has_more_dirty = true;
}

/* ---- files that become complete -------------------------------------------------------------------------------- */

/* The end of the hole that `piece` lies in; `piece` itself when it lies in none. */
static uint64_t hole_end(const manifest_entry *entry, uint64_t piece)
{
    uint32_t low = 0;
    uint32_t high = entry->hole_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (entry->holes[middle].first + entry->holes[middle].count <= piece)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == entry->hole_count || entry->holes[low].first > piece)
        return piece;
    return entry->holes[low].first + entry->holes[low].count;
}

/* Adds the hashes of holes once nothing else is missing. 0 when all is known; EAGAIN: pieces are missing; or another
 * errno value. */
static int add_holes(tree_content *content, uint32_t entry)
{
    static const uint8_t zeros[PIECE_BYTES];
    const manifest_entry *of = &content->all->entries[entry];
    piece_tree *pieces = content->entries[entry].pieces;
    uint64_t count = manifest_pieces(of->size);
    uint64_t piece = piece_tree_next_unknown(pieces, 0);
    while (piece < count) {
        uint64_t end = hole_end(of, piece);
        if (end == piece)
            return EAGAIN;
        piece = piece_tree_next_unknown(pieces, end);
    }
    for (piece = piece_tree_next_unknown(pieces, 0); piece < count; piece = piece_tree_next_unknown(pieces, piece)) {
        subtree known = {.index = piece};
        int error = *content->cancelled ? ECANCELED : 0;
        piece_hash(zeros, tree_content_piece_bytes(of, piece), piece, count == 1, known.hash);
        if (error == 0)
            error = piece_tree_add(pieces, &known);
        if (error != 0)
            return error;
        content->bytes_done += tree_content_piece_bytes(of, piece);
    }
    return 0;
}

static bool add_unnamed(tree_content *content, uint32_t entry)
{
    if (content->unnamed_count == content->unnamed_capacity) {
        size_t capacity = content->unnamed_capacity == 0 ? 64 : 2 * content->unnamed_capacity;
        uint32_t *unnamed = realloc(content->unnamed, capacity * sizeof *unnamed);
        if (unnamed == NULL)
            return false;
        content->unnamed = unnamed;
        content->unnamed_capacity = capacity;
    }
    content->unnamed[content->unnamed_count++] = entry;
    return true;
}

/* What was recorded of it is not what the sender has: it keeps its temporary name, and comes again in whole. */
static int refuse_sum(tree_content *content, uint32_t entry, netblt_failure *failure)
{
    content_entry *state = &content->entries[entry];
    tree_key key;
    tree_content_key(&content->all->entries[entry], &key);
    tree_journal_forget(content->journal, &key);
    tree_journal_flush(content->journal);
    piece_tree_free(state->pieces);
    state->pieces = NULL;
    state->has_sum = false;
    content->bytes_done -= content->all->entries[entry].size;
    return tree_content_fail(content, entry, "it is damaged: its hash is not that of the sender", failure);
}

/* 0: it is the sender's; EBADMSG: it is not; or another errno value. */
static int check_sum(tree_content *content, uint32_t entry, int fd)
{
    const manifest_entry *of = &content->all->entries[entry];
    uint8_t sum[PIECE_HASH_BYTES];
    int error = 0;
    if (content->sum == TREE_SUM_SHA256)
        error = tree_sum_sha256(fd, of->size, content->cancelled, sum);
    else if (!piece_tree_sum(content->entries[entry].pieces, sum))
        error = EINVAL;
    return error == 0 && memcmp(sum, content->sums[entry], sizeof sum) != 0 ? EBADMSG : error;
}

/* The sum is known: if all pieces are, too, the file is complete. */
static int complete(tree_content *content, uint32_t entry, netblt_failure *failure)
{
    content_entry *state = &content->entries[entry];
    content_file *file;
    int fd;
    int error;
    if (state->pieces == NULL)
        state->pieces = piece_tree_new(content->all->entries[entry].size);
    fd = tree_content_open_file(content, entry); /* which makes it, if all of it is a hole */
    error = fd < 0 ? errno : state->pieces == NULL ? ENOMEM : add_holes(content, entry);
    if (error == EAGAIN)
        return 0;
    if (error == 0)
        error = check_sum(content, entry, fd);
    if (error == EBADMSG)
        return refuse_sum(content, entry, failure);
    file = find_open(content, entry);
    if (error == 0 && file != NULL)
        error = close_file(file);
    if (error == 0 && !add_unnamed(content, entry))
        error = ENOMEM;
    if (error != 0)
        return fail_of(content, entry, error, failure);
    piece_tree_free(state->pieces);
    state->pieces = NULL;
    state->stage = CONTENT_CHECKED;
    content->files_done++;
    return 0;
}

/* ---- what comes ------------------------------------------------------------------------------------------------ */

static bool is_known(const content_entry *state, uint64_t piece)
{
    return state->stage != CONTENT_WANTED || (state->pieces != NULL && piece_tree_has(state->pieces, piece));
}

static int store_piece(tree_content *content, uint32_t entry, const subtree *known, const uint8_t *bytes, size_t length)
{
    content_entry *state = &content->entries[entry];
    tree_key key;
    int fd = tree_content_open_file(content, entry);
    int error = fd < 0 ? errno : tree_disk_write(fd, bytes, length, known->index * PIECE_BYTES);
    if (error == 0 && state->pieces == NULL)
        state->pieces = piece_tree_new(content->all->entries[entry].size);
    if (error != 0)
        return error;
    error = state->pieces == NULL ? ENOMEM : piece_tree_add(state->pieces, known);
    if (error != 0)
        return error;
    note_dirty(content, entry, length);
    content->bytes_done += length;
    tree_content_key(&content->all->entries[entry], &key);
    return tree_journal_add(content->journal, &key, known);
}

int tree_content_piece(tree_content *content, uint32_t entry, uint64_t piece, const uint8_t *bytes, size_t length,
                       const uint8_t hash[PIECE_HASH_BYTES], netblt_failure *failure)
{
    content_entry *state = &content->entries[entry];
    subtree known = {.index = piece};
    int error;
    if (is_known(state, piece))
        return 0;
    piece_hash(bytes, length, piece, manifest_pieces(content->all->entries[entry].size) == 1, known.hash);
    if (memcmp(known.hash, hash, sizeof known.hash) != 0)
        return tree_content_fail(content, entry, "a piece of it is damaged: its hash is not that of the sender",
                                 failure);
    error = store_piece(content, entry, &known, bytes, length);
    if (error != 0)
        return fail_of(content, entry, error, failure);
    return state->has_sum ? complete(content, entry, failure) : 0;
}

/* A file that exists is or is not the sender's. */
static int compare(tree_content *content, uint32_t entry, netblt_failure *failure)
{
    const manifest_entry *of = &content->all->entries[entry];
    content_entry *state = &content->entries[entry];
    uint8_t sum[PIECE_HASH_BYTES];
    int fd = tree_place_read(content->place, of);
    int error = fd < 0 ? errno : 0;
    if (error == 0 && content->sum == TREE_SUM_SHA256)
        error = tree_sum_sha256(fd, of->size, content->cancelled, sum);
    else if (error == 0)
        error = tree_sum_blake3(fd, of->size, content->cancelled, sum);
    if (fd >= 0)
        close(fd);
    if (error == ECANCELED)
        return fail_of(content, entry, error, failure);
    if (error == 0 && memcmp(sum, content->sums[entry], sizeof sum) == 0) {
        state->stage = CONTENT_STORED;
        state->was_there = true;
        content->files_done++;
        content->bytes_done += of->size;
        content->bytes_held += of->size;
        return 0;
    }
    state->stage = CONTENT_WANTED;
    state->differs = true;
    state->has_sum = false;
    return tree_place_may_replace(content->place, of, failure);
}

int tree_content_sum(tree_content *content, uint32_t entry, const uint8_t sum[PIECE_HASH_BYTES],
                     netblt_failure *failure)
{
    content_entry *state = &content->entries[entry];
    if (state->stage != CONTENT_WANTED && state->stage != CONTENT_COMPARE)
        return 0;
    memcpy(content->sums[entry], sum, PIECE_HASH_BYTES);
    state->has_sum = true;
    return state->stage == CONTENT_COMPARE ? compare(content, entry, failure) : complete(content, entry, failure);
}

/* ---- syncing and naming ---------------------------------------------------------------------------------------- */

/* The first `count` of the unnamed get their names. */
static int name_files(tree_content *content, size_t count, netblt_failure *failure)
{
    size_t done = 0;
    int result = 0;
    while (done < count && result == 0)
        result = tree_finish_file(content, content->unnamed[done++], failure);
    content->unnamed_count -= done;
    if (content->unnamed_count > 0)
        memmove(content->unnamed, content->unnamed + done, content->unnamed_count * sizeof *content->unnamed);
    content->covered = 0;
    return result;
}

/* A file that lost its name meanwhile needs no sync. */
static void add_to_job(const tree_content *content, uint32_t entry, tree_sync_job *job)
{
    char name[PARTIAL_KEY_NAME_BYTES];
    tree_key key;
    int fd;
    tree_content_key(&content->all->entries[entry], &key);
    tree_partial_key_name(&key, name);
    fd = openat(content->dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0)
        job->fds[job->count++] = fd;
    else if (errno != ENOENT)
        job->whole = true;
}

static void begin_sync(tree_content *content)
{
    tree_sync_job job = {
        .dir = fcntl(content->dir, F_DUPFD_CLOEXEC, 3), .journal = content->journal, .whole = content->has_more_dirty};
    for (size_t i = 0; i < content->dirty_count && !job.whole; i++)
        add_to_job(content, content->dirty[i], &job);
    job.journal_length = tree_journal_length(content->journal);
    content->dirty_count = 0;
    content->has_more_dirty = false;
    content->dirty_bytes = 0;
    content->covered = content->unnamed_count;
    tree_sync_begin(content->sync, &job);
}

/* Names what a sync that has ended covers. */
static int take_sync(tree_content *content, netblt_failure *failure)
{
    int error = 0;
    if (!tree_sync_take_result(content->sync, &error))
        return 0;
    content->synced_at_us = tree_content_now_us();
    if (error != 0)
        return netblt_fail(failure, NETBLT_FAILURE_LOCAL, "cannot store files: %s", strerror(error));
    return name_files(content, content->covered, failure);
}

static int flush_journal(tree_content *content, netblt_failure *failure)
{
    int error = tree_journal_flush(content->journal);
    if (error == 0)
        return 0;
    return netblt_fail(failure, NETBLT_FAILURE_LOCAL, "cannot store files: the journal of what came: %s",
                       strerror(error));
}

int tree_content_tend(tree_content *content, netblt_failure *failure)
{
    bool is_due;
    if (flush_journal(content, failure) != 0)
        return -1;
    if (tree_sync_is_busy(content->sync))
        return 0;
    if (take_sync(content, failure) != 0)
        return -1;
    is_due =
        content->dirty_bytes >= SYNC_AFTER_BYTES || ((content->dirty_bytes > 0 || content->unnamed_count > 0) &&
                                                     tree_content_now_us() - content->synced_at_us >= SYNC_AFTER_US);
    if (is_due)
        begin_sync(content);
    return 0;
}

int tree_content_flush(tree_content *content, bool sync, netblt_failure *failure)
{
    if (flush_journal(content, failure) != 0)
        return -1;
    if (sync) {
        tree_sync_wait(content->sync);
        if (take_sync(content, failure) != 0)
            return -1;
        begin_sync(content);
        tree_sync_wait(content->sync);
        return take_sync(content, failure);
    }
    return name_files(content, content->unnamed_count, failure);
}

bool tree_content_is_complete(const tree_content *content)
{
    for (uint32_t i = 0; i < content->all->count; i++)
        if (content->entries[i].stage == CONTENT_WANTED || content->entries[i].stage == CONTENT_COMPARE)
            return false;
    return true;
}
