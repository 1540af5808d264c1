/* SPDX-License-Identifier: BSD-2-Clause */
/* The data of a tree transfer as its sender reads them: what is in them, parts, and files that change meanwhile. */
#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "cli/tree/tree_reader.h"
#include "random.h"

#define BIG_PIECES 9
#define BIG_BYTES (8 * PIECE_BYTES + 4321)
#define NO_LIMIT UINT64_MAX

static struct random any = {5};
static char place[] = "/tmp/tree-reader-XXXXXX";

/* Files and what they hold. In the manifest: t, t/big, t/empty, t/exact, t/small, t/sparse. */
enum { BIG = 1, EMPTY, EXACT, SMALL, SPARSE, ENTRIES };
static uint8_t *content[ENTRIES];
static uint64_t sizes[ENTRIES];
static tree_files *files;
static manifest *all;

static void write_file(const char *path, const uint8_t *bytes, uint64_t size)
{
    int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0644);
    CHECK(fd >= 0 && write(fd, bytes, size) == (ssize_t)size);
    close(fd);
}

static void make_file(unsigned entry, const char *path, uint64_t size)
{
    uint8_t *bytes = malloc(size + 8);
    CHECK(bytes != NULL);
    for (uint64_t i = 0; i < size; i += 8) {
        uint64_t next = random_next(&any);
        memcpy(bytes + i, &next, 8);
    }
    write_file(path, bytes, size);
    content[entry] = bytes;
    sizes[entry] = size;
}

/* Pieces 2 to 5 of 7 are a hole where the file system has such. */
static void make_sparse(void)
{
    int fd = open("t/sparse", O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
    sizes[SPARSE] = 6 * PIECE_BYTES + 1;
    content[SPARSE] = calloc(1, sizes[SPARSE]);
    CHECK(fd >= 0 && content[SPARSE] != NULL && ftruncate(fd, (off_t)sizes[SPARSE]) == 0);
    memset(content[SPARSE], 7, 2 * PIECE_BYTES);
    content[SPARSE][6 * PIECE_BYTES] = 9;
    CHECK(pwrite(fd, content[SPARSE], 2 * PIECE_BYTES, 0) == 2 * PIECE_BYTES);
    CHECK(pwrite(fd, content[SPARSE] + 6 * PIECE_BYTES, 1, 6 * PIECE_BYTES) == 1);
    close(fd);
}

static void enter(void)
{
    static const char *const path = "t";
    netblt_failure failure = {0};
    memset(place + strlen(place) - 6, 'X', 6);
    CHECK(mkdtemp(place) != NULL && chdir(place) == 0 && mkdir("t", 0700) == 0);
    make_file(BIG, "t/big", BIG_BYTES);
    make_file(EMPTY, "t/empty", 0);
    make_file(EXACT, "t/exact", PIECE_BYTES);
    make_file(SMALL, "t/small", 10);
    make_sparse();
    files = tree_files_open(&path, 1, &failure);
    CHECK(files != NULL);
    all = tree_files_walk(files, NULL, &failure);
    CHECK(all != NULL);
    CHECK_EQUAL(all->count, ENTRIES);
}

static void leave(void)
{
    char command[100];
    snprintf(command, sizeof command, "rm -rf %s", place);
    manifest_free(all);
    tree_files_close(files);
    for (unsigned i = BIG; i < ENTRIES; i++)
        free(content[i]);
    CHECK(chdir("/") == 0 && system(command) == 0); /* NOLINT(cert-env33-c) */
}

/* ---- what is to be in the data, computed from the files as a whole
 * --------------------------------------------------- */

static void sum_of(unsigned entry, enum tree_sum kind, uint8_t sum[PIECE_HASH_BYTES])
{
    if (kind == TREE_SUM_BLAKE3)
        blake3_of(content[entry], sizes[entry], sum);
    else
        CHECK(EVP_Digest(content[entry], sizes[entry], sum, NULL, EVP_sha256(), NULL) == 1);
}

static void hash_of(unsigned entry, uint64_t piece, uint8_t hash[PIECE_HASH_BYTES])
{
    uint64_t left = sizes[entry] - piece * PIECE_BYTES;
    piece_hash(content[entry] + piece * PIECE_BYTES, left < PIECE_BYTES ? left : PIECE_BYTES, piece,
               sizes[entry] <= PIECE_BYTES, hash);
}

/* All of the content, in memory of its own. */
static uint8_t *make_expected(const layout *plan, enum tree_sum kind)
{
    uint8_t *bytes = malloc(layout_bytes(plan) + 1);
    uint8_t hash[PIECE_HASH_BYTES];
    CHECK(bytes != NULL);
    for (uint64_t at = 0; at < layout_bytes(plan);) {
        layout_run run = layout_at(plan, at);
        CHECK_EQUAL(run.skip, 0);
        if (run.kind == LAYOUT_BYTES) {
            memcpy(bytes + at, content[run.entry] + run.file_offset, run.length);
        } else if (run.kind == LAYOUT_PIECE_HASH) {
            hash_of(run.entry, run.piece, hash);
            memcpy(bytes + at, hash, sizeof hash);
        } else {
            sum_of(run.entry, kind, hash);
            memcpy(bytes + at, hash, sizeof hash);
        }
        at += run.length;
    }
    return bytes;
}

/* ---- reading
 * ---------------------------------------------------------------------------------------------------------- */

static tree_reader *open_part(const tree_reader_args *args)
{
    netblt_failure failure = {0};
    tree_reader *from = tree_reader_new(args, &failure);
    if (from == NULL)
        fprintf(stderr, "%s\n", failure.text);
    CHECK(from != NULL);
    return from;
}

/* Reads a part to its end, in pieces of odd sizes or of one size. */
static uint8_t *read_part(tree_reader *from, size_t step)
{
    netblt_failure failure = {0};
    uint64_t bytes = tree_reader_bytes(from);
    uint8_t *part = malloc(bytes + 1);
    uint64_t at = 0;
    CHECK(part != NULL);
    while (at < bytes) {
        size_t wanted = step != 0 ? step : 1 + random_below(&any, 3 * PIECE_BYTES);
        int64_t got = tree_reader_read(from, part + at, wanted < bytes - at ? wanted : bytes - at, &failure);
        if (got < 0)
            fprintf(stderr, "%s\n", failure.text);
        CHECK_EQUAL(got, wanted < bytes - at ? wanted : bytes - at);
        at += (uint64_t)got;
    }
    CHECK_EQUAL(tree_reader_read(from, part, 1, &failure), 0);
    return part;
}

static uint64_t check_header(const uint8_t *part, const tree_reader_args *args)
{
    netblt_failure failure;
    tree_header header;
    CHECK(tree_header_decode(part, &header, &failure) == 0);
    CHECK_EQUAL(header.data, TREE_CONTENT);
    CHECK_EQUAL(header.sum, args->sum);
    CHECK_EQUAL(header.has_manifest, args->with_manifest);
    CHECK_EQUAL(header.offset, args->offset);
    CHECK(memcmp(header.manifest_id, args->all->id, 16) == 0);
    if (args->held != NULL)
        CHECK(memcmp(header.held_id, args->held->id, HELD_ID_BYTES) == 0);
    if (!args->with_manifest)
        return TREE_HEADER_BYTES;
    CHECK_EQUAL(header.list_bytes, all->encoded_bytes);
    CHECK(memcmp(part + TREE_HEADER_BYTES, all->encoded, all->encoded_bytes) == 0);
    return TREE_HEADER_BYTES + all->encoded_bytes;
}

/* Reads everything in parts of `most_bytes` and checks every byte. */
static void check_parts(tree_reader_args args, const held_list *held, uint64_t most_bytes, size_t step, bool keep_sums)
{
    layout *plan = layout_new(all, held);
    uint8_t *expected = make_expected(plan, args.sum);
    tree_sums *sums = keep_sums ? tree_sums_new(all, args.sum) : NULL;
    uint8_t sum[PIECE_HASH_BYTES];
    uint8_t wanted[PIECE_HASH_BYTES];
    args.files = files;
    args.all = all;
    args.held = held;
    args.sums = sums;
    args.most_bytes = most_bytes;
    do {
        tree_reader *from = open_part(&args);
        uint8_t *part = read_part(from, step);
        uint64_t before = check_header(part, &args);
        CHECK(memcmp(part + before, expected + args.offset, tree_reader_bytes(from) - before) == 0);
        CHECK(tree_reader_bytes(from) == most_bytes || tree_reader_end_offset(from) == layout_bytes(plan));
        args.offset += tree_reader_bytes(from) - before;
        CHECK_EQUAL(args.offset, tree_reader_end_offset(from));
        args.with_manifest = false;
        free(part);
        tree_reader_free(from);
    } while (args.offset < layout_bytes(plan));
    if (keep_sums && held == NULL) {
        CHECK(tree_sums_get(sums, BIG, sum));
        sum_of(BIG, args.sum, wanted);
        CHECK(memcmp(sum, wanted, sizeof sum) == 0);
        CHECK(!tree_sums_get(sums, EMPTY, sum));
    }
    tree_sums_free(sums);
    free(expected);
    layout_free(plan);
}

static const enum tree_sum kinds[] = {TREE_SUM_BLAKE3, TREE_SUM_SHA256};

static void a_part_holds_header_manifest_files_hashes_and_sums(void)
{
    enter();
    for (unsigned i = 0; i < 2; i++) {
        tree_reader_args args = {.sum = kinds[i], .with_manifest = true};
        check_parts(args, NULL, NO_LIMIT, 262144, true);
        check_parts(args, NULL, NO_LIMIT, 7, false);
        check_parts(args, NULL, NO_LIMIT, 0, false);
    }
    leave();
}

static void parts_that_are_cut_anywhere_make_the_whole(void)
{
    enter();
    for (unsigned i = 0; i < 40; i++) {
        tree_reader_args args = {.sum = kinds[i % 2], .with_manifest = true};
        uint64_t most = TREE_HEADER_BYTES + all->encoded_bytes + 1 + random_below(&any, 5 * PIECE_BYTES);
        check_parts(args, NULL, i == 0 ? TREE_HEADER_BYTES + all->encoded_bytes + PIECE_BYTES + 16 : most, 0,
                    i % 4 < 2);
    }
    leave();
}

static held_list *make_held(const held_entry *entries, size_t count)
{
    held_list *held = held_new();
    CHECK(held != NULL);
    for (size_t i = 0; i < count; i++)
        CHECK_EQUAL(held_add(held, &entries[i]), 0);
    CHECK_EQUAL(held_seal(held), 0);
    return held;
}

static subtree known_piece(unsigned entry, uint64_t piece)
{
    subtree known = {.index = piece};
    hash_of(entry, piece, known.hash);
    return known;
}

static void what_is_held_is_not_sent_and_is_in_the_sums(void)
{
    subtree of_big[3];
    subtree of_sparse[1];
    subtree pair[2];
    held_list *held;
    enter();
    of_big[0] = known_piece(BIG, 1);
    pair[0] = known_piece(BIG, 4);
    pair[1] = known_piece(BIG, 5);
    of_big[1] = (subtree){.level = 1, .index = 2};
    piece_hash_join(pair[0].hash, pair[1].hash, false, of_big[1].hash);
    of_big[2] = known_piece(BIG, 8);
    of_sparse[0] = known_piece(SPARSE, 0);
    held = make_held((const held_entry[]){{.entry = BIG, .subtrees = of_big, .subtree_count = 3},
                                          {.entry = EXACT, .kind = HELD_COMPARE},
                                          {.entry = SMALL, .kind = HELD_COMPLETE},
                                          {.entry = SPARSE, .subtrees = of_sparse, .subtree_count = 1}},
                     4);
    for (unsigned i = 0; i < 10; i++) {
        tree_reader_args args = {.sum = kinds[i % 2]};
        check_parts(args, held, i < 2 ? NO_LIMIT : TREE_HEADER_BYTES + 1 + random_below(&any, 3 * PIECE_BYTES), 0,
                    i % 4 < 2);
    }
    held_free(held);
    leave();
}

/* ---- files that change ----------------------------------------------------------------------------------------------
 */

static void check_fails(tree_reader *from, const char *text)
{
    netblt_failure failure = {0};
    static uint8_t bytes[20 * PIECE_BYTES];
    CHECK(tree_reader_read(from, bytes, sizeof bytes, &failure) == -1);
    if (strstr(failure.text, text) == NULL)
        fprintf(stderr, "%s\n", failure.text);
    CHECK(strstr(failure.text, text) != NULL);
    tree_reader_free(from);
}

static void check_reads_on(tree_reader *from)
{
    netblt_failure failure = {0};
    static uint8_t bytes[20 * PIECE_BYTES];
    CHECK(tree_reader_read(from, bytes, sizeof bytes, &failure) > 0);
    CHECK_EQUAL(tree_reader_entry(from), SPARSE);
    tree_reader_free(from);
}

static tree_reader *open_whole(void)
{
    return open_part(&(tree_reader_args){
        .files = files, .all = all, .sum = TREE_SUM_BLAKE3, .with_manifest = true, .most_bytes = NO_LIMIT});
}

/* A reader that has read some bytes of t/big. */
static tree_reader *open_begun(void)
{
    static uint8_t bytes[4 * PIECE_BYTES];
    netblt_failure failure = {0};
    tree_reader *from = open_whole();
    CHECK_EQUAL(tree_reader_entry(from), BIG);
    CHECK_EQUAL(tree_reader_read(from, bytes, sizeof bytes, &failure), sizeof bytes);
    CHECK_EQUAL(tree_reader_entry(from), BIG);
    return from;
}

static void touch(const char *path)
{
    struct stat status;
    struct timespec times[2];
    CHECK(stat(path, &status) == 0);
    times[0] = times[1] = status.st_mtim;
    times[1].tv_nsec = (times[1].tv_nsec + 1000) % 1000000000;
    CHECK(utimensat(AT_FDCWD, path, times, 0) == 0);
}

static void a_file_that_changed_since_the_walk_is_named(void)
{
    enter();
    touch("t/exact");
    check_fails(open_whole(), "t/exact changed while it was being sent");
    CHECK(truncate("t/big", 100) == 0);
    check_fails(open_whole(), "t/big became shorter while it was being sent");
    CHECK(unlink("t/big") == 0);
    check_fails(open_whole(), "cannot read t/big");
    CHECK(symlink("exact", "t/big") == 0);
    check_fails(open_whole(), "cannot read t/big");
    leave();
}

static void a_file_that_changes_while_it_is_sent_is_named(void)
{
    tree_reader *from;
    int fd;
    enter();
    from = open_begun();
    fd = open("t/big", O_WRONLY | O_CLOEXEC);
    CHECK(fd >= 0 && pwrite(fd, "!", 1, 3) == 1);
    close(fd);
    touch("t/big"); /* within the same tick of the kernel's clock, a write would not show */
    check_fails(from, "t/big changed while it was being sent");
    leave();
    enter();
    from = open_begun();
    CHECK(truncate("t/big", BIG_BYTES + 1) == 0);
    check_fails(from, "t/big changed while it was being sent");
    leave();
    enter();
    from = open_begun();
    CHECK(truncate("t/big", 5 * PIECE_BYTES) == 0);
    check_fails(from, "t/big became shorter while it was being sent");
    leave();
    enter();
    from = open_begun();
    CHECK(rename("t/big", "t/renamed") == 0 && chmod("t/renamed", 0600) == 0); /* which changes no byte */
    check_reads_on(from);
    leave();
}

static void a_part_that_ends_in_a_file_that_changed_fails(void)
{
    tree_reader *from;
    uint8_t bytes[200];
    netblt_failure failure = {0};
    enter();
    from = open_part(&(tree_reader_args){
        .files = files, .all = all, .sum = TREE_SUM_BLAKE3, .most_bytes = TREE_HEADER_BYTES + 2 * PIECE_BYTES});
    CHECK_EQUAL(tree_reader_read(from, bytes, sizeof bytes, &failure), sizeof bytes);
    touch("t/big");
    check_fails(from, "t/big changed");
    leave();
}

static void a_reader_that_is_stopped_ends(void)
{
    tree_reader *from;
    enter();
    from = open_begun();
    tree_reader_stop(from);
    check_fails(from, "stopped");
    leave();
}

static void what_cannot_be_a_part_is_refused(void)
{
    netblt_failure failure = {0};
    tree_reader_args args = {.files = NULL, .sum = TREE_SUM_BLAKE3, .with_manifest = true, .most_bytes = NO_LIMIT};
    enter();
    args.files = files;
    args.all = all;
    args.offset = UINT64_C(1) << 40;
    CHECK(tree_reader_new(&args, &failure) == NULL);
    CHECK(strstr(failure.text, "not there") != NULL);
    args.offset = 0;
    args.most_bytes = TREE_HEADER_BYTES + all->encoded_bytes;
    CHECK(tree_reader_new(&args, &failure) == NULL);
    CHECK(strstr(failure.text, "too many files") != NULL);
    leave();
}

int main(void)
{
    RUN(a_part_holds_header_manifest_files_hashes_and_sums);
    RUN(parts_that_are_cut_anywhere_make_the_whole);
    RUN(what_is_held_is_not_sent_and_is_in_the_sums);
    RUN(a_file_that_changed_since_the_walk_is_named);
    RUN(a_file_that_changes_while_it_is_sent_is_named);
    RUN(a_part_that_ends_in_a_file_that_changed_fails);
    RUN(a_reader_that_is_stopped_ends);
    RUN(what_cannot_be_a_part_is_refused);
    return 0;
}
