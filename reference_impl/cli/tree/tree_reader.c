/* SPDX-License-Identifier: BSD-2-Clause */
/* The data of a step of a tree transfer, as the sender reads them: see tree_reader.h. */
#include "cli/tree/tree_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NO_ENTRY UINT32_MAX
#define NO_PIECE UINT64_MAX

struct tree_reader {
    tree_reader_args args;
    tree_sums *own_sums; /* when the caller has none */
    layout *plan;
    uint8_t header[TREE_HEADER_BYTES];
    uint64_t prefix_bytes; /* header and manifest */
    uint64_t bytes;
    uint64_t at; /* bytes of the part that were read */
    atomic_bool stopped;

    uint32_t entry;                 /* the file that is open, or was; NO_ENTRY before the first one */
    int fd;                         /* -1: none */
    uint64_t piece;                 /* in `bytes_of_piece` or delivered directly; NO_PIECE: none */
    uint8_t hash[PIECE_HASH_BYTES]; /* of that piece */
    uint8_t bytes_of_piece[PIECE_BYTES];
    uint8_t zeros[PIECE_BYTES]; /* what a hole reads as */
};

/* ---- the part -----------------------------------------------------------------------------------------------------
 */

static void encode_header(tree_reader *from)
{
    const tree_reader_args *args = &from->args;
    tree_header header = {.data = TREE_CONTENT,
                          .sum = args->sum,
                          .has_manifest = args->with_manifest,
                          .list_bytes = args->with_manifest ? args->all->encoded_bytes : 0,
                          .offset = args->offset};
    memcpy(header.manifest_id, args->all->id, sizeof header.manifest_id);
    if (args->held != NULL)
        memcpy(header.held_id, args->held->id, sizeof header.held_id);
    tree_header_encode(&header, from->header);
}

/* Where the part ends. 0, or -1 with *failure. */
static int measure(tree_reader *from, netblt_failure *failure)
{
    const tree_reader_args *args = &from->args;
    uint64_t content = layout_bytes(from->plan);
    uint64_t left = content - args->offset;
    from->prefix_bytes = TREE_HEADER_BYTES + (args->with_manifest ? args->all->encoded_bytes : 0);
    if (args->offset > content)
        return netblt_fail(failure, NETBLT_FAILURE_LOCAL, "the peer asks for data that are not there");
    if (from->prefix_bytes >= args->most_bytes)
        return netblt_fail(failure, NETBLT_FAILURE_LOCAL,
                           "there are too many files for one transfer: send some of them");
    if (left > args->most_bytes - from->prefix_bytes)
        left = args->most_bytes - from->prefix_bytes;
    from->bytes = from->prefix_bytes + left;
    return 0;
}

tree_reader *tree_reader_new(const tree_reader_args *args, netblt_failure *failure)
{
    tree_reader *from = calloc(1, sizeof *from);
    if (from == NULL) {
        netblt_fail(failure, NETBLT_FAILURE_LOCAL, "not enough memory");
        return NULL;
    }
    from->args = *args;
    from->fd = -1;
    from->entry = NO_ENTRY;
    from->piece = NO_PIECE;
    from->plan = layout_new(args->all, args->held);
    if (args->sums == NULL)
        from->args.sums = from->own_sums = tree_sums_new(args->all, args->sum);
    if (from->plan == NULL || from->args.sums == NULL)
        netblt_fail(failure, NETBLT_FAILURE_LOCAL, "not enough memory");
    else if (measure(from, failure) == 0) {
        encode_header(from);
        return from;
    }
    tree_reader_free(from);
    return NULL;
}

void tree_reader_free(tree_reader *from)
{
    if (from == NULL)
        return;
    if (from->fd >= 0)
        close(from->fd);
    layout_free(from->plan);
    tree_sums_free(from->own_sums);
    free(from);
}

uint64_t tree_reader_bytes(const tree_reader *from)
{
    return from->bytes;
}

uint64_t tree_reader_end_offset(const tree_reader *from)
{
    return from->args.offset + (from->bytes - from->prefix_bytes);
}

void tree_reader_stop(tree_reader *from)
{
    from->stopped = true;
}

bool tree_reader_sum(const tree_reader *from, uint32_t entry, uint8_t sum[PIECE_HASH_BYTES])
{
    return tree_sums_get(from->args.sums, entry, sum);
}

static uint32_t first_file(const manifest *all)
{
    for (uint32_t i = 0; i < all->count; i++)
        if (all->entries[i].kind == ENTRY_FILE)
            return i;
    return 0;
}

uint32_t tree_reader_entry(const tree_reader *from)
{
    return from->entry == NO_ENTRY ? first_file(from->args.all) : from->entry;
}

/* ---- one file -----------------------------------------------------------------------------------------------------
 */

static const manifest_entry *open_entry(const tree_reader *from)
{
    return &from->args.all->entries[from->entry];
}

static int fail_for(const tree_reader *from, int error, netblt_failure *failure)
{
    return netblt_fail(failure, NETBLT_FAILURE_LOCAL, "cannot read %s: %s", open_entry(from)->path, strerror(error));
}

/* Asked when the file is opened and after its last piece, so that no sum is sent of bytes that were never together in
 * it. */
static int check_unchanged(const tree_reader *from, netblt_failure *failure)
{
    const manifest_entry *entry = open_entry(from);
    struct stat status;
    if (fstat(from->fd, &status) != 0)
        return fail_for(from, errno, failure);
    if (status.st_size >= 0 && (uint64_t)status.st_size < entry->size)
        return netblt_fail(failure, NETBLT_FAILURE_LOCAL, "%s became shorter while it was being sent", entry->path);
    if ((uint64_t)status.st_size != entry->size || status.st_mtim.tv_sec != entry->mtime_s ||
        status.st_mtim.tv_nsec != (long)entry->mtime_ns)
        return netblt_fail(failure, NETBLT_FAILURE_LOCAL, "%s changed while it was being sent", entry->path);
    return 0;
}

static int close_file(tree_reader *from, netblt_failure *failure)
{
    int result = 0;
    if (from->fd >= 0) {
        result = check_unchanged(from, failure);
        close(from->fd);
    }
    from->fd = -1;
    from->piece = NO_PIECE;
    return result;
}

static const held_entry *find_held(const held_list *held, uint32_t entry)
{
    uint32_t low = 0;
    uint32_t high = held == NULL ? 0 : held->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (held->entries[middle].entry == entry)
            return &held->entries[middle];
        if (held->entries[middle].entry < entry)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

/* Makes `entry` the open file. */
static int open_file(tree_reader *from, uint32_t entry, netblt_failure *failure)
{
    int error;
    if (from->entry == entry && from->fd >= 0)
        return 0;
    if (close_file(from, failure) != 0)
        return -1;
    from->entry = entry;
    from->fd = tree_files_read(from->args.files, open_entry(from));
    if (from->fd < 0)
        return fail_for(from, errno, failure);
    (void)posix_fadvise(from->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    error = tree_sums_begin(from->args.sums, entry, find_held(from->args.held, entry));
    return error != 0 ? fail_for(from, error, failure) : check_unchanged(from, failure);
}

static bool is_in_hole(const manifest_entry *entry, uint64_t piece)
{
    uint32_t low = 0;
    uint32_t high = entry->hole_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        const hole *one = &entry->holes[middle];
        if (piece >= one->first && piece - one->first < one->count)
            return true;
        if (one->first < piece)
            low = middle + 1;
        else
            high = middle;
    }
    return false;
}

/* ---- its pieces ---------------------------------------------------------------------------------------------------
 */

static size_t length_of(const manifest_entry *entry, uint64_t piece)
{
    uint64_t left = entry->size - piece * PIECE_BYTES;
    return left < PIECE_BYTES ? (size_t)left : (size_t)PIECE_BYTES;
}

static int read_bytes(const tree_reader *from, uint64_t offset, uint8_t *to, size_t length, netblt_failure *failure)
{
    while (length > 0) {
        ssize_t got = pread(from->fd, to, length, (off_t)offset);
        if (got == 0)
            return netblt_fail(failure, NETBLT_FAILURE_LOCAL, "%s became shorter while it was being sent",
                               open_entry(from)->path);
        if (got < 0 && errno != EINTR)
            return fail_for(from, errno, failure);
        if (got > 0) {
            to += got;
            offset += (uint64_t)got;
            length -= (size_t)got;
        }
    }
    return 0;
}

/* Reads and hashes a piece, to `to` or, when that is NULL, for the sum alone. */
static int take_piece(tree_reader *from, uint64_t piece, uint8_t *to, netblt_failure *failure)
{
    const manifest_entry *entry = open_entry(from);
    size_t length = length_of(entry, piece);
    const uint8_t *bytes = to == NULL ? from->bytes_of_piece : to;
    int error;
    if (from->stopped)
        return netblt_fail(failure, NETBLT_FAILURE_LOCAL, "stopped");
    if (to == NULL && is_in_hole(entry, piece))
        bytes = from->zeros;
    else if (read_bytes(from, piece * PIECE_BYTES, to == NULL ? from->bytes_of_piece : to, length, failure) != 0)
        return -1;
    piece_hash(bytes, length, piece, entry->size <= PIECE_BYTES, from->hash);
    from->piece = piece;
    error = tree_sums_add(from->args.sums, piece, bytes, length, from->hash);
    return error == 0 ? 0 : fail_for(from, error, failure);
}

/* Makes `piece` of the entry the one that is read, directly to `to` unless that is NULL. */
static int load_piece(tree_reader *from, uint32_t entry, uint64_t piece, uint8_t *to, netblt_failure *failure)
{
    if (open_file(from, entry, failure) != 0)
        return -1;
    if (from->piece == piece && to == NULL)
        return 0;
    while (tree_sums_needs_before(from->args.sums, piece))
        if (take_piece(from, tree_sums_next(from->args.sums), NULL, failure) != 0)
            return -1;
    return take_piece(from, piece, to == NULL ? from->bytes_of_piece : to, failure);
}

/* What the sum needs and was not read for the content: pieces that are held when a SHA-256 is wanted, holes, what went
 * in earlier parts, and a file that the receiver compares. */
static int finish_sum(tree_reader *from, uint32_t entry, uint8_t sum[PIECE_HASH_BYTES], netblt_failure *failure)
{
    uint64_t pieces = manifest_pieces(from->args.all->entries[entry].size);
    int error;
    if (tree_sums_get(from->args.sums, entry, sum))
        return 0;
    if (open_file(from, entry, failure) != 0)
        return -1;
    while (tree_sums_next(from->args.sums) < pieces)
        if (take_piece(from, tree_sums_next(from->args.sums), NULL, failure) != 0)
            return -1;
    if (close_file(from, failure) != 0)
        return -1;
    error = tree_sums_end(from->args.sums, sum);
    return error == 0 ? 0 : fail_for(from, error, failure);
}

/* ---- bytes --------------------------------------------------------------------------------------------------------
 */

/* A whole piece goes to its place without a copy; of one that is cut by the end of a buffer the rest is kept. */
static int read_piece(tree_reader *from, const layout_run *run, uint8_t *to, size_t length, netblt_failure *failure)
{
    bool whole = run->skip == 0 && length == run->length;
    if (whole)
        return load_piece(from, run->entry, run->piece, to, failure);
    if (load_piece(from, run->entry, run->piece, NULL, failure) != 0)
        return -1;
    memcpy(to, from->bytes_of_piece + run->skip, length);
    return 0;
}

static int read_run(tree_reader *from, const layout_run *run, uint8_t *to, size_t length, netblt_failure *failure)
{
    uint8_t sum[PIECE_HASH_BYTES];
    switch (run->kind) {
    case LAYOUT_BYTES:
        return read_piece(from, run, to, length, failure);
    case LAYOUT_PIECE_HASH:
        if (load_piece(from, run->entry, run->piece, NULL, failure) != 0)
            return -1;
        memcpy(to, from->hash + run->skip, length);
        return 0;
    default:
        if (finish_sum(from, run->entry, sum, failure) != 0)
            return -1;
        memcpy(to, sum + run->skip, length);
        return 0;
    }
}

static size_t read_prefix(const tree_reader *from, uint8_t *to, size_t wanted)
{
    const uint8_t *bytes = from->header + from->at;
    uint64_t length = TREE_HEADER_BYTES - from->at;
    if (from->at >= TREE_HEADER_BYTES) {
        bytes = from->args.all->encoded + (from->at - TREE_HEADER_BYTES);
        length = from->prefix_bytes - from->at;
    }
    if (length > wanted)
        length = wanted;
    memcpy(to, bytes, (size_t)length);
    return (size_t)length;
}

/* The bytes of one run, or of less. How many, or -1. */
static int64_t read_some(tree_reader *from, uint8_t *to, size_t wanted, netblt_failure *failure)
{
    layout_run run;
    size_t length;
    if (from->at < from->prefix_bytes)
        return (int64_t)read_prefix(from, to, wanted);
    run = layout_at(from->plan, from->args.offset + (from->at - from->prefix_bytes));
    length = run.length < wanted ? run.length : wanted;
    return read_run(from, &run, to, length, failure) == 0 ? (int64_t)length : -1;
}

int64_t tree_reader_read(tree_reader *from, uint8_t *to, size_t wanted, netblt_failure *failure)
{
    size_t done = 0;
    if (wanted > from->bytes - from->at)
        wanted = (size_t)(from->bytes - from->at);
    while (done < wanted) {
        int64_t got = read_some(from, to + done, wanted - done, failure);
        if (got < 0)
            return -1;
        done += (size_t)got;
        from->at += (uint64_t)got;
    }
    if (from->at == from->bytes && close_file(from, failure) != 0)
        return -1;
    return (int64_t)done;
}
