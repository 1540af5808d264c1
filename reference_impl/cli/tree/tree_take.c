/* SPDX-License-Identifier: BSD-2-Clause */
/* Pieces and sums of a tree's files as they come: verified, stored, journalled. See tree_take.h. */
#include "cli/tree/tree_take.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/tree/grow.h"
#include "cli/tree/tree_disk.h"
#include "cli/tree/tree_sum.h"

static int fail_of(const tree_content *content, uint32_t entry, int error, netblt_failure *failure)
{
    return tree_content_fail(content, entry, strerror(error), failure);
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

/* A peer states in some bytes that terabytes are holes, and their hashes take as long as those of data. The threads of
 * all transfers take turns of so many pieces, so that holes have one processor at most. */
#define HOLE_PIECES_A_TURN 64
static pthread_mutex_t hole_turn = PTHREAD_MUTEX_INITIALIZER;

/* 0, or an errno value. *piece: the first that is not known; then that of the next turn. */
static int add_holes_of_a_turn(tree_content *content, uint32_t entry, uint64_t *piece)
{
    static const uint8_t zeros[PIECE_BYTES];
    const manifest_entry *of = &content->all->entries[entry];
    piece_tree *pieces = content->entries[entry].pieces;
    uint64_t count = manifest_pieces(of->size);
    for (unsigned i = 0; i < HOLE_PIECES_A_TURN && *piece < count; i++) {
        subtree known = {.index = *piece};
        int error = *content->cancelled ? ECANCELED : 0;
        piece_hash(zeros, tree_content_piece_bytes(of, *piece), *piece, count == 1, known.hash);
        if (error == 0)
            error = piece_tree_add(pieces, &known);
        if (error != 0)
            return error;
        content->bytes_done += tree_content_piece_bytes(of, *piece);
        *piece = piece_tree_next_unknown(pieces, *piece);
    }
    return 0;
}

/* The mutex alone would go to the thread that has just had it. */
static void let_others_have_a_turn(void)
{
    const struct timespec moment = {.tv_nsec = 1000};
    nanosleep(&moment, NULL);
}

/* Adds the hashes of holes once nothing else is missing. 0 when all is known; EAGAIN: pieces are missing; or another
 * errno value. */
static int add_holes(tree_content *content, uint32_t entry)
{
    const manifest_entry *of = &content->all->entries[entry];
    piece_tree *pieces = content->entries[entry].pieces;
    uint64_t count = manifest_pieces(of->size);
    uint64_t piece = piece_tree_next_unknown(pieces, 0);
    int error = 0;
    while (piece < count) {
        uint64_t end = hole_end(of, piece);
        if (end == piece)
            return EAGAIN;
        piece = piece_tree_next_unknown(pieces, end);
    }
    piece = piece_tree_next_unknown(pieces, 0);
    while (piece < count && error == 0) {
        pthread_mutex_lock(&hole_turn);
        error = add_holes_of_a_turn(content, entry, &piece);
        pthread_mutex_unlock(&hole_turn);
        let_others_have_a_turn();
    }
    return error;
}

static bool add_unnamed(tree_content *content, uint32_t entry)
{
    uint32_t *unnamed = grow(content->unnamed, content->unnamed_count, &content->unnamed_capacity, sizeof *unnamed);
    if (unnamed == NULL)
        return false;
    content->unnamed = unnamed;
    content->unnamed[content->unnamed_count++] = entry;
    return true;
}

/* What was recorded of it is not what the sender has: it keeps its temporary name, and is sent from its beginning. */
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
    if (error == 0)
        error = tree_content_close_file(content, entry);
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

int tree_take_piece(tree_content *content, uint32_t entry, uint64_t piece, const uint8_t *bytes, size_t length,
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

int tree_take_sum(tree_content *content, uint32_t entry, const uint8_t sum[PIECE_HASH_BYTES], netblt_failure *failure)
{
    content_entry *state = &content->entries[entry];
    if (state->stage != CONTENT_WANTED && state->stage != CONTENT_COMPARE)
        return 0;
    memcpy(content->sums[entry], sum, PIECE_HASH_BYTES);
    state->has_sum = true;
    return state->stage == CONTENT_COMPARE ? compare(content, entry, failure) : complete(content, entry, failure);
}
