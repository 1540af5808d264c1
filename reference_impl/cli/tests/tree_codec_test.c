/* SPDX-License-Identifier: BSD-2-Clause */
/* Formats of a tree transfer: header, manifest and held list, also damaged ones, and the layout of the content. */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "cli/tree/layout.h"
#include "cli/tree/tree_header.h"
#include "random.h"

static netblt_failure failure;
static struct random chance = {.state = 1};

/* Sets an enum to a value that does not exist. */
static void make_unknown(void *kind)
{
    const unsigned unknown = 4;
    memcpy(kind, &unknown, sizeof unknown);
}

static uint64_t below(uint64_t limit)
{
    return random_below(&chance, limit);
}

/* ---- header ---------------------------------------------------------------------------------------------------- */

static void a_header_comes_back_as_it_was(void)
{
    const tree_header header = {.data = TREE_CONTENT,
                                .sum = TREE_SUM_SHA256,
                                .has_manifest = true,
                                .list_bytes = 0x0102030405060708,
                                .offset = 0x1112131415161718,
                                .manifest_id = "0123456789abcde",
                                .held_id = "ABCDEFG"};
    uint8_t bytes[TREE_HEADER_BYTES];
    tree_header back;
    tree_header_encode(&header, bytes);
    CHECK(memcmp(bytes, "NBTT\1\1\2\1\1\2\3\4\5\6\7\10", 16) == 0);
    CHECK(bytes[16] == 0x11 && bytes[23] == 0x18 && bytes[24] == '0' && bytes[40] == 'A');
    CHECK_EQUAL(tree_header_decode(bytes, &back, &failure), 0);
    CHECK(back.data == header.data && back.sum == header.sum && back.has_manifest);
    CHECK(back.list_bytes == header.list_bytes && back.offset == header.offset);
    CHECK(memcmp(back.manifest_id, header.manifest_id, sizeof back.manifest_id) == 0);
    CHECK(memcmp(back.held_id, header.held_id, sizeof back.held_id) == 0);
}

static void a_header_with_any_damaged_bit_is_refused(void)
{
    const tree_header header = {.data = TREE_HELD, .sum = TREE_SUM_BLAKE3, .list_bytes = 4};
    uint8_t bytes[TREE_HEADER_BYTES];
    tree_header back;
    for (unsigned bit = 0; bit < 8 * TREE_HEADER_BYTES; bit++) {
        tree_header_encode(&header, bytes);
        bytes[bit / 8] ^= (uint8_t)(1U << bit % 8);
        CHECK(tree_header_decode(bytes, &back, &failure) != 0);
    }
}

static bool is_header_taken(tree_header header)
{
    uint8_t bytes[TREE_HEADER_BYTES];
    tree_header back;
    tree_header_encode(&header, bytes);
    return tree_header_decode(bytes, &back, &failure) == 0;
}

static void a_header_that_contradicts_itself_is_refused(void)
{
    tree_header unknown_data = {.sum = TREE_SUM_BLAKE3};
    tree_header unknown_sum = {.data = TREE_CONTENT};
    CHECK(is_header_taken((tree_header){.data = TREE_CONTENT, .sum = TREE_SUM_BLAKE3}));
    make_unknown(&unknown_data.data);
    CHECK(!is_header_taken(unknown_data));
    make_unknown(&unknown_sum.sum);
    CHECK(!is_header_taken(unknown_sum));
    CHECK(!is_header_taken((tree_header){.data = TREE_CONTENT, .sum = TREE_SUM_BLAKE3, .list_bytes = 4}));
    CHECK(!is_header_taken((tree_header){.data = TREE_HELD, .sum = TREE_SUM_BLAKE3, .has_manifest = true}));
}

/* ---- manifests ------------------------------------------------------------------------------------------------- */

static manifest_entry file_entry(const char *path, uint64_t size)
{
    return (manifest_entry){.kind = ENTRY_FILE, .mode = 0644, .mtime_s = 1, .path = (char *)path, .size = size};
}

static manifest_entry directory_entry(const char *path)
{
    return (manifest_entry){.kind = ENTRY_DIRECTORY, .mode = 0755, .mtime_s = 1, .path = (char *)path};
}

static manifest_entry link_entry(const char *path, const char *target)
{
    return (manifest_entry){.kind = ENTRY_LINK, .mode = 0777, .path = (char *)path, .target = (char *)target};
}

static void add(manifest *all, manifest_entry entry)
{
    CHECK_EQUAL(manifest_add(all, &entry), 0);
}

static manifest *make_tree(void)
{
    hole holes[] = {{1, 2}, {4, 1}};
    manifest *all = manifest_new();
    manifest_entry sparse = file_entry("top/sub/sparse", 5 * PIECE_BYTES + 7);
    CHECK(all != NULL);
    sparse.holes = holes;
    sparse.hole_count = 2;
    sparse.mtime_s = -2;
    sparse.mtime_ns = 999999999;
    sparse.mode = 07777;
    add(all, file_entry("top/sub.c", 1)); /* comes after top/sub/..., as '/' is below '.' */
    add(all, sparse);
    add(all, directory_entry("top/sub"));
    add(all, link_entry("top/sub/link", "../../anywhere"));
    add(all, directory_entry("top"));
    CHECK_EQUAL(manifest_seal(all, &failure), 0);
    return all;
}

static void holes_are_nothing_to_send(void)
{
    hole holes[] = {{1, 2}, {4, 2}}; /* the second one ends with the file, in the midst of a piece */
    manifest_entry sparse = file_entry("sparse", 5 * PIECE_BYTES + 7);
    CHECK_EQUAL(manifest_data_bytes(&sparse), 5 * PIECE_BYTES + 7);
    sparse.holes = holes;
    sparse.hole_count = 2;
    CHECK_EQUAL(manifest_data_bytes(&sparse), 2 * PIECE_BYTES);
}

static void a_manifest_is_put_in_order_and_comes_back_as_it_was(void)
{
    static const char *const order[] = {"top", "top/sub", "top/sub/link", "top/sub/sparse", "top/sub.c"};
    manifest *all = make_tree();
    manifest *back = manifest_decode(all->encoded, all->encoded_bytes, &failure);
    CHECK(back != NULL);
    CHECK_EQUAL(back->count, 5);
    CHECK(memcmp(back->id, all->id, sizeof all->id) == 0);
    CHECK_EQUAL(back->encoded_bytes, all->encoded_bytes);
    for (uint32_t i = 0; i < back->count; i++) {
        CHECK(strcmp(back->entries[i].path, order[i]) == 0);
        CHECK_EQUAL(back->entries[i].kind, all->entries[i].kind);
        CHECK_EQUAL(back->entries[i].mode, all->entries[i].mode);
        CHECK_EQUAL(back->entries[i].mtime_s, all->entries[i].mtime_s);
        CHECK_EQUAL(back->entries[i].mtime_ns, all->entries[i].mtime_ns);
        CHECK_EQUAL(back->entries[i].size, all->entries[i].size);
        CHECK_EQUAL(back->entries[i].hole_count, all->entries[i].hole_count);
    }
    CHECK(strcmp(back->entries[2].target, "../../anywhere") == 0);
    CHECK(back->entries[3].holes[1].first == 4 && back->entries[3].holes[1].count == 1);
    CHECK(back->entries[3].mtime_s == -2);
    manifest_free(back);
    manifest_free(all);
}

/* Bytes as docs/tree-transfer.md has them. */
static void a_manifest_has_the_documented_bytes(void)
{
    static const uint8_t bytes[] = {0, 0, 0, 1, 1,   1, 0244, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0,
                                    0, 0, 0, 1, 'f', 0, 0,    0, 0, 0, 0, 1, 2, 0, 0, 0, 0};
    manifest *all = manifest_new();
    add(all, file_entry("f", 0x102));
    CHECK_EQUAL(manifest_seal(all, &failure), 0);
    CHECK_EQUAL(all->encoded_bytes, sizeof bytes);
    CHECK(memcmp(all->encoded, bytes, sizeof bytes) == 0);
    manifest_free(all);
}

static void paths_that_lead_elsewhere_are_refused(void)
{
    static const char *const wrong[] = {"", "/", "/a", "a/", "a//b", ".", "..", "a/./b", "a/../b", "../a", "a/.."};
    static const char *const right[] = {"a", "a/b", "...", "..a", ".a", "a\nb", "-rf"};
    char long_part[258];
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        CHECK(manifest_check_path(wrong[i]) != NULL);
    for (size_t i = 0; i < sizeof right / sizeof *right; i++)
        CHECK(manifest_check_path(right[i]) == NULL);
    memset(long_part, 'x', sizeof long_part);
    long_part[255] = '\0';
    CHECK(manifest_check_path(long_part) == NULL);
    long_part[255] = 'x';
    long_part[256] = '\0';
    CHECK(manifest_check_path(long_part) != NULL);
}

static void paths_of_more_than_4095_bytes_are_refused(void)
{
    char path[4098];
    for (size_t i = 0; i < sizeof path; i++)
        path[i] = i % 2 == 0 ? 'x' : '/';
    path[4095] = '\0';
    CHECK(manifest_check_path(path) == NULL);
    path[4095] = '/';
    path[4097] = '\0';
    CHECK(manifest_check_path(path) != NULL);
}

/* Whether these two entries, in this order, are a manifest. */
static bool is_taken(manifest_entry one, manifest_entry other)
{
    manifest *all = manifest_new();
    bool taken;
    add(all, one);
    add(all, other);
    taken = manifest_seal(all, &failure) == 0;
    manifest_free(all);
    return taken;
}

static void entries_that_contradict_each_other_are_refused(void)
{
    manifest_entry wrong = file_entry("b", 1);
    CHECK(is_taken(directory_entry("a"), file_entry("a/b", 1)));
    CHECK(!is_taken(file_entry("a", 1), file_entry("a", 1)));
    CHECK(!is_taken(file_entry("a", 1), file_entry("a/b", 1)));
    CHECK(!is_taken(link_entry("a", "/"), file_entry("a/b", 1)));
    CHECK(!is_taken(directory_entry("a"), file_entry("b/c", 1)));
    CHECK(!is_taken(directory_entry("a"), file_entry("ab/c", 1)));
    CHECK(!is_taken(directory_entry("a"), link_entry("b", "")));
    CHECK(!is_taken(file_entry("a", UINT64_C(1) << 61), file_entry("b", UINT64_C(1) << 61)));
    make_unknown(&wrong.kind);
    CHECK(!is_taken(directory_entry("a"), wrong));
    wrong = file_entry("b", 1);
    wrong.mode = 010000;
    CHECK(!is_taken(directory_entry("a"), wrong));
    wrong = file_entry("b", 1);
    wrong.mtime_ns = 1000000000;
    CHECK(!is_taken(directory_entry("a"), wrong));
}

static bool are_holes_taken(uint64_t size, hole one, hole other)
{
    hole holes[] = {one, other};
    manifest_entry entry = file_entry("f", size);
    entry.holes = holes;
    entry.hole_count = 2;
    return is_taken(directory_entry("d"), entry);
}

static void holes_out_of_place_are_refused(void)
{
    const uint64_t size = 9 * PIECE_BYTES + 1; /* 10 pieces */
    CHECK(are_holes_taken(size, (hole){0, 1}, (hole){2, 8}));
    CHECK(!are_holes_taken(size, (hole){0, 1}, (hole){1, 1}));
    CHECK(!are_holes_taken(size, (hole){2, 1}, (hole){0, 1}));
    CHECK(!are_holes_taken(size, (hole){0, 1}, (hole){2, 9}));
    CHECK(!are_holes_taken(size, (hole){0, 0}, (hole){2, 8}));
    CHECK(!are_holes_taken(size, (hole){0, 1}, (hole){2, UINT64_MAX}));
    CHECK(!are_holes_taken(size, (hole){0, UINT64_MAX}, (hole){2, 1}));
    CHECK(!are_holes_taken(size, (hole){0, 1}, (hole){UINT64_MAX, 2}));
}

/* ---- held lists ------------------------------------------------------------------------------------------------ */

static held_list *hold(const held_entry *entries, size_t count)
{
    held_list *held = held_new();
    CHECK(held != NULL);
    for (size_t i = 0; i < count; i++)
        CHECK_EQUAL(held_add(held, &entries[i]), 0);
    CHECK_EQUAL(held_seal(held), 0);
    return held;
}

static void a_held_list_comes_back_as_it_was(void)
{
    subtree known[] = {{1, 0, "first"}, {0, 5, "last"}};
    const held_entry entries[] = {{3, HELD_SUBTREES, known, 2}, {4, HELD_COMPARE, NULL, 0}};
    manifest *all = make_tree();
    held_list *held = hold(entries, 2);
    held_list *back = held_decode(held->encoded, held->encoded_bytes, all, &failure);
    CHECK(back != NULL);
    CHECK_EQUAL(back->count, 2);
    CHECK(memcmp(back->id, held->id, sizeof held->id) == 0);
    CHECK(back->entries[0].entry == 3 && back->entries[0].kind == HELD_SUBTREES);
    CHECK_EQUAL(back->entries[0].subtree_count, 2);
    for (size_t i = 0; i < 2; i++) {
        CHECK(back->entries[0].subtrees[i].level == known[i].level);
        CHECK(back->entries[0].subtrees[i].index == known[i].index);
        CHECK(memcmp(back->entries[0].subtrees[i].hash, known[i].hash, PIECE_HASH_BYTES) == 0);
    }
    CHECK(back->entries[1].entry == 4 && back->entries[1].kind == HELD_COMPARE);
    held_free(back);
    held_free(held);
    manifest_free(all);
}

static bool is_held_taken(held_entry one, held_entry other)
{
    const held_entry entries[] = {one, other};
    manifest *all = make_tree();
    held_list *held = hold(entries, 2);
    held_list *back = held_decode(held->encoded, held->encoded_bytes, all, &failure);
    bool taken = back != NULL;
    held_free(back);
    held_free(held);
    manifest_free(all);
    return taken;
}

static bool are_subtrees_taken(subtree one, subtree other)
{
    subtree known[] = {one, other};
    return is_held_taken((held_entry){3, HELD_SUBTREES, known, 2}, (held_entry){4, HELD_COMPLETE, NULL, 0});
}

static void held_lists_that_do_not_fit_the_manifest_are_refused(void)
{
    subtree known = {0, 0, ""};
    held_entry unknown = {3, HELD_COMPLETE, NULL, 0};
    const held_entry last = {4, HELD_COMPLETE, NULL, 0};
    CHECK(is_held_taken((held_entry){3, HELD_COMPLETE, NULL, 0}, last));
    CHECK(!is_held_taken(last, (held_entry){3, HELD_COMPLETE, NULL, 0}));
    CHECK(!is_held_taken(last, last));
    CHECK(!is_held_taken(last, (held_entry){5, HELD_COMPLETE, NULL, 0}));
    CHECK(!is_held_taken((held_entry){3, HELD_SUBTREES, NULL, 0}, last));
    CHECK(!is_held_taken((held_entry){0, HELD_COMPLETE, NULL, 0}, last)); /* a directory */
    CHECK(!is_held_taken((held_entry){2, HELD_SUBTREES, &known, 1}, last));
    make_unknown(&unknown.kind);
    CHECK(!is_held_taken(unknown, last));
    CHECK(are_subtrees_taken((subtree){1, 0, ""}, (subtree){2, 1, ""}) == false); /* 6 pieces */
    CHECK(are_subtrees_taken((subtree){2, 0, ""}, (subtree){1, 2, ""}));
    CHECK(!are_subtrees_taken((subtree){2, 0, ""}, (subtree){1, 1, ""}));
    CHECK(!are_subtrees_taken((subtree){0, 5, ""}, (subtree){0, 6, ""}));
    CHECK(!are_subtrees_taken((subtree){0, 5, ""}, (subtree){47, 0, ""}));
    CHECK(!are_subtrees_taken((subtree){0, 0, ""}, (subtree){46, UINT64_MAX, ""}));
    CHECK(!are_subtrees_taken((subtree){0, 0, ""}, (subtree){255, 1, ""}));
}

/* ---- anything a peer may send ---------------------------------------------------------------------------------- */

static void damage(uint8_t *bytes, size_t length)
{
    unsigned changes = 1 + (unsigned)below(4);
    for (unsigned i = 0; i < changes; i++) {
        uint8_t *at = &bytes[below(length)];
        *at = below(3) == 0 ? 0xff : below(2) == 0 ? 0 : (uint8_t)(*at ^ 1U << below(8));
    }
}

/* Exact memory, so that a sanitizer sees what reads beyond it. */
static uint8_t *copy_of(const uint8_t *bytes, size_t length)
{
    uint8_t *copy = malloc(length == 0 ? 1 : length);
    CHECK(copy != NULL);
    memcpy(copy, bytes, length);
    return copy;
}

/* What is taken is used, so that what it should not have let through shows. */
static void use(const manifest *all, const held_list *held)
{
    layout *plan = layout_new(all, held);
    CHECK(plan != NULL);
    for (unsigned i = 0; i < 8 && layout_bytes(plan) > 0; i++) {
        uint64_t offset = below(layout_bytes(plan));
        layout_run run = layout_at(plan, offset);
        CHECK(run.entry < all->count && run.length > 0);
        if (run.kind == LAYOUT_BYTES)
            CHECK(run.file_offset + run.length <= all->entries[run.entry].size);
    }
    layout_free(plan);
}

static void damaged_lists_are_refused_or_harmless(void)
{
    subtree known[] = {{1, 0, "first"}, {0, 5, "last"}};
    const held_entry entries[] = {{3, HELD_SUBTREES, known, 2}, {4, HELD_COMPLETE, NULL, 0}};
    manifest *all = make_tree();
    held_list *held = hold(entries, 2);
    unsigned taken = 0;
    for (unsigned round = 0; round < 20000; round++) {
        size_t length = below(8) == 0 ? (size_t)below(all->encoded_bytes) : all->encoded_bytes;
        uint8_t *bytes = copy_of(all->encoded, length);
        manifest *damaged;
        if (length > 0)
            damage(bytes, length);
        damaged = manifest_decode(bytes, length, &failure);
        free(bytes);
        bytes = copy_of(held->encoded, held->encoded_bytes);
        damage(bytes, held->encoded_bytes);
        if (damaged != NULL) {
            held_list *of_it = held_decode(bytes, held->encoded_bytes, damaged, &failure);
            use(damaged, of_it);
            held_free(of_it);
            taken++;
        }
        free(bytes);
        manifest_free(damaged);
    }
    CHECK(taken > 100);
    held_free(held);
    manifest_free(all);
}

static void counts_that_promise_more_than_there_is_cost_no_memory(void)
{
    static const uint8_t many_entries[] = {0xff, 0xff, 0xff, 0xff, 1};
    static const uint8_t many_holes[] = {0, 0, 0, 1, 1,   1, 0244, 0, 0, 0, 0, 0, 0, 0,    1,    0,    0,
                                         0, 0, 0, 1, 'f', 0, 0,    0, 0, 0, 0, 1, 2, 0xff, 0xff, 0xff, 0xff};
    static const uint8_t many_held[] = {0, 0, 0, 1, 0, 0, 0, 3, 0, 0xff, 0xff, 0xff, 0xff, 0, 0};
    manifest *all = make_tree();
    CHECK(manifest_decode(many_entries, sizeof many_entries, &failure) == NULL);
    CHECK(manifest_decode(many_holes, sizeof many_holes, &failure) == NULL);
    CHECK(held_decode(many_entries, sizeof many_entries, all, &failure) == NULL);
    CHECK(held_decode(many_held, sizeof many_held, all, &failure) == NULL);
    manifest_free(all);
}

/* ---- layout ---------------------------------------------------------------------------------------------------- */

static bool is_in_hole(const manifest_entry *file, uint64_t piece)
{
    for (uint32_t i = 0; i < file->hole_count; i++)
        if (piece >= file->holes[i].first && piece - file->holes[i].first < file->holes[i].count)
            return true;
    return false;
}

static const held_entry *find_held(const held_list *held, uint32_t entry)
{
    for (uint32_t i = 0; held != NULL && i < held->count; i++)
        if (held->entries[i].entry == entry)
            return &held->entries[i];
    return NULL;
}

static bool is_held(const held_entry *held, uint64_t piece)
{
    for (uint32_t i = 0; held != NULL && i < held->subtree_count; i++)
        if (piece >> held->subtrees[i].level == held->subtrees[i].index)
            return true;
    return false;
}

/* Checks the run that begins at *offset, at its beginning and within, and goes on after it. */
static void expect_run(const layout *plan, uint64_t *offset, layout_run wanted)
{
    for (uint32_t skip = 0; skip < wanted.length; skip += skip == 0 ? 1 : wanted.length / 2 + 1) {
        layout_run run = layout_at(plan, *offset + skip);
        CHECK_EQUAL(run.kind, wanted.kind);
        CHECK_EQUAL(run.entry, wanted.entry);
        CHECK_EQUAL(run.piece, wanted.piece);
        CHECK_EQUAL(run.skip, skip);
        CHECK_EQUAL(run.length, wanted.length - skip);
        if (wanted.kind == LAYOUT_BYTES)
            CHECK_EQUAL(run.file_offset, wanted.file_offset + skip);
    }
    *offset += wanted.length;
}

/* The content as docs/tree-transfer.md has it, piece by piece. */
static void expect_layout(const manifest *all, const held_list *held)
{
    layout *plan = layout_new(all, held);
    uint64_t offset = 0;
    uint64_t file_bytes = 0;
    for (uint32_t i = 0; i < all->count; i++) {
        const manifest_entry *file = &all->entries[i];
        const held_entry *here = find_held(held, i);
        if (file->size == 0 || (here != NULL && here->kind == HELD_COMPLETE))
            continue;
        for (uint64_t piece = 0; piece < manifest_pieces(file->size); piece++) {
            uint64_t start = piece * PIECE_BYTES;
            uint32_t length = (uint32_t)(file->size - start < PIECE_BYTES ? file->size - start : PIECE_BYTES);
            if (is_in_hole(file, piece) || is_held(here, piece) || (here != NULL && here->kind == HELD_COMPARE))
                continue;
            expect_run(plan, &offset, (layout_run){LAYOUT_BYTES, i, piece, start, 0, length});
            expect_run(plan, &offset, (layout_run){LAYOUT_PIECE_HASH, i, piece, 0, 0, PIECE_HASH_BYTES});
            file_bytes += length;
        }
        expect_run(plan, &offset, (layout_run){LAYOUT_FILE_SUM, i, 0, 0, 0, PIECE_HASH_BYTES});
    }
    CHECK_EQUAL(layout_bytes(plan), offset);
    CHECK_EQUAL(layout_file_bytes(plan), file_bytes);
    layout_free(plan);
}

static manifest *random_manifest(void)
{
    manifest *all = manifest_new();
    char path[2] = "a";
    for (unsigned i = 0; i < 6; i++, path[0]++) {
        hole holes[8];
        uint64_t pieces;
        manifest_entry file = file_entry(path, below(4) == 0 ? 0 : below(20 * PIECE_BYTES));
        pieces = manifest_pieces(file.size);
        file.holes = holes;
        for (uint64_t at = below(3); at < pieces && file.hole_count < 8; at += 1 + below(3)) {
            uint64_t count = 1 + below(3);
            if (count > pieces - at)
                break;
            holes[file.hole_count++] = (hole){at, count};
            at += count;
        }
        add(all, file);
    }
    CHECK_EQUAL(manifest_seal(all, &failure), 0);
    return all;
}

static held_list *random_held(const manifest *all)
{
    held_list *held = held_new();
    for (uint32_t i = 0; i < all->count; i++) {
        subtree known[32];
        held_entry entry = {i, (enum held_kind)below(3), known, 0};
        uint64_t pieces = manifest_pieces(all->entries[i].size);
        if (pieces == 0 || below(3) == 0)
            continue;
        for (uint64_t at = below(3); entry.kind == HELD_SUBTREES && at < pieces; at += below(4)) {
            uint8_t level = (uint8_t)below(3);
            if (at % (UINT64_C(1) << level) != 0 || at + (UINT64_C(1) << level) >= pieces)
                level = 0;
            known[entry.subtree_count++] = (subtree){level, at >> level, ""};
            at += UINT64_C(1) << level;
        }
        if (entry.kind == HELD_SUBTREES && entry.subtree_count == 0)
            entry.kind = HELD_COMPLETE;
        CHECK_EQUAL(held_add(held, &entry), 0);
    }
    CHECK_EQUAL(held_seal(held), 0);
    return held;
}

static void the_layout_is_the_documented_one(void)
{
    for (unsigned round = 0; round < 300; round++) {
        manifest *all = random_manifest();
        held_list *held = random_held(all);
        held_list *back = held_decode(held->encoded, held->encoded_bytes, all, &failure);
        CHECK(back != NULL);
        expect_layout(all, NULL);
        expect_layout(all, held);
        held_free(back);
        held_free(held);
        manifest_free(all);
    }
}

int main(void)
{
    RUN(a_header_comes_back_as_it_was);
    RUN(a_header_with_any_damaged_bit_is_refused);
    RUN(a_header_that_contradicts_itself_is_refused);
    RUN(holes_are_nothing_to_send);
    RUN(a_manifest_is_put_in_order_and_comes_back_as_it_was);
    RUN(a_manifest_has_the_documented_bytes);
    RUN(paths_that_lead_elsewhere_are_refused);
    RUN(paths_of_more_than_4095_bytes_are_refused);
    RUN(entries_that_contradict_each_other_are_refused);
    RUN(holes_out_of_place_are_refused);
    RUN(a_held_list_comes_back_as_it_was);
    RUN(held_lists_that_do_not_fit_the_manifest_are_refused);
    RUN(damaged_lists_are_refused_or_harmless);
    RUN(counts_that_promise_more_than_there_is_cost_no_memory);
    RUN(the_layout_is_the_documented_one);
    return 0;
}
