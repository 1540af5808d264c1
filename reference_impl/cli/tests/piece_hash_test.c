/* SPDX-License-Identifier: BSD-2-Clause */
/* Hashes of pieces: a file's sum is its BLAKE3, in whatever order its pieces become known. */
#include <errno.h>
#include <string.h>

#include "blake3_vectors.h"
#include "check.h"
#include "cli/tree/manifest.h"
#include "cli/tree/piece_hash.h"
#include "random.h"

#define VECTORS (sizeof vectors / sizeof *vectors)

static struct random any = {11};

static uint8_t *make_content(size_t size)
{
    uint8_t *bytes = malloc(size + 1);
    CHECK(bytes != NULL);
    for (size_t i = 0; i < size; i++)
        bytes[i] = (uint8_t)(i % VECTOR_PERIOD);
    return bytes;
}

static void check_sum(const char *wanted, const uint8_t sum[PIECE_HASH_BYTES])
{
    char text[2 * PIECE_HASH_BYTES + 1];
    for (size_t i = 0; i < PIECE_HASH_BYTES; i++)
        snprintf(text + 2 * i, 3, "%02x", sum[i]);
    CHECK(strcmp(text, wanted) == 0);
}

static subtree piece_of(const uint8_t *bytes, size_t size, uint64_t index)
{
    subtree piece = {.level = 0, .index = index};
    size_t left = size - (size_t)(index * PIECE_BYTES);
    piece_hash(bytes + index * PIECE_BYTES, left < PIECE_BYTES ? left : PIECE_BYTES, index, size <= PIECE_BYTES,
               piece.hash);
    return piece;
}

/* 0 to count - 1 in some order. */
static uint64_t *shuffle(uint64_t count)
{
    uint64_t *order = calloc(count + 1, sizeof *order);
    CHECK(order != NULL);
    for (uint64_t i = 0; i < count; i++) {
        uint64_t other = random_below(&any, i + 1);
        order[i] = order[other];
        order[other] = i;
    }
    return order;
}

static void known_content_has_the_sums_of_another_implementation(void)
{
    for (size_t i = 0; i < VECTORS; i++) {
        uint8_t *bytes = make_content(vectors[i].size);
        uint8_t sum[PIECE_HASH_BYTES];
        blake3_of(bytes, vectors[i].size, sum);
        check_sum(vectors[i].sum, sum);
        free(bytes);
    }
}

/* A tree of what another one knows, as a peer makes it of a held list. */
static piece_tree *copy_of(const piece_tree *tree, size_t size)
{
    piece_tree *copy = piece_tree_new(size);
    CHECK(copy != NULL);
    for (size_t i = 0; i < piece_tree_count(tree); i++)
        CHECK_EQUAL(piece_tree_add(copy, &piece_tree_list(tree)[i]), 0);
    CHECK_EQUAL(piece_tree_count(copy), piece_tree_count(tree));
    return copy;
}

/* Adds the pieces in `order`, and goes on with a copy now and then. */
static void check_in_order(const uint8_t *bytes, size_t index, const uint64_t *order)
{
    size_t size = vectors[index].size;
    uint64_t pieces = manifest_pieces(size);
    piece_tree *tree = piece_tree_new(size);
    uint8_t sum[PIECE_HASH_BYTES];
    CHECK(tree != NULL);
    for (uint64_t i = 0; i < pieces; i++) {
        subtree piece = piece_of(bytes, size, order[i]);
        CHECK(!piece_tree_sum(tree, sum));
        CHECK(!piece_tree_has(tree, order[i]));
        CHECK_EQUAL(piece_tree_add(tree, &piece), 0);
        CHECK(piece_tree_has(tree, order[i]));
        CHECK_EQUAL(piece_tree_add(tree, &piece), EEXIST);
        if (random_chance(&any, 60)) {
            piece_tree *copy = copy_of(tree, size);
            piece_tree_free(tree);
            tree = copy;
        }
    }
    CHECK(piece_tree_sum(tree, sum));
    check_sum(vectors[index].sum, sum);
    CHECK(piece_tree_count(tree) <= 16);
    piece_tree_free(tree);
}

static void pieces_in_any_order_give_the_sum(void)
{
    for (size_t i = 0; i < VECTORS; i++) {
        uint8_t *bytes = make_content(vectors[i].size);
        uint64_t pieces = manifest_pieces(vectors[i].size);
        for (unsigned turn = 0; turn < 3; turn++) {
            uint64_t *order = shuffle(pieces);
            check_in_order(bytes, i, order);
            free(order);
        }
        free(bytes);
    }
}

static void pieces_in_order_take_little_memory(void)
{
    piece_tree *tree = piece_tree_new(1000 * PIECE_BYTES);
    CHECK(tree != NULL);
    for (uint64_t i = 0; i < 1000; i++) {
        CHECK_EQUAL(piece_tree_add(tree, &(subtree){.index = i}), 0);
        CHECK(piece_tree_count(tree) <= 10);
    }
    piece_tree_free(tree);
}

static void what_is_known_and_what_is_not_is_found(void)
{
    static const uint64_t some[] = {3, 4, 5, 9, 12};
    piece_tree *tree = piece_tree_new(12 * PIECE_BYTES + 1);
    CHECK(tree != NULL);
    CHECK_EQUAL(piece_tree_next_known(tree, 0), 13);
    CHECK_EQUAL(piece_tree_next_unknown(tree, 0), 0);
    for (size_t i = 0; i < sizeof some / sizeof *some; i++)
        CHECK_EQUAL(piece_tree_add(tree, &(subtree){.index = some[i]}), 0);
    CHECK_EQUAL(piece_tree_count(tree), 4); /* 4 and 5 are one */
    CHECK_EQUAL(piece_tree_next_known(tree, 0), 3);
    CHECK_EQUAL(piece_tree_next_known(tree, 5), 5);
    CHECK_EQUAL(piece_tree_next_known(tree, 6), 9);
    CHECK_EQUAL(piece_tree_next_known(tree, 13), 13);
    CHECK_EQUAL(piece_tree_next_unknown(tree, 2), 2);
    CHECK_EQUAL(piece_tree_next_unknown(tree, 3), 6);
    CHECK_EQUAL(piece_tree_next_unknown(tree, 5), 6);
    CHECK_EQUAL(piece_tree_next_unknown(tree, 9), 10);
    CHECK_EQUAL(piece_tree_next_unknown(tree, 12), 13);
    piece_tree_free(tree);
}

static void what_a_peer_must_not_claim_is_refused(void)
{
    static const subtree wrong[] = {{.level = 0, .index = 8},
                                    {.level = 3, .index = 0},
                                    {.level = 4, .index = 0},
                                    {.level = 1, .index = 4},
                                    {.level = 2, .index = 2},
                                    {.level = 47, .index = 0},
                                    {.level = 63, .index = 0},
                                    {.level = 64, .index = 1},
                                    {.level = 255, .index = 0},
                                    {.level = 0, .index = UINT64_MAX},
                                    {.level = 2, .index = UINT64_MAX / 4 + 1}};
    piece_tree *tree = piece_tree_new(8 * PIECE_BYTES);
    CHECK(tree != NULL);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        CHECK_EQUAL(piece_tree_add(tree, &wrong[i]), EINVAL);
    CHECK_EQUAL(piece_tree_add(tree, &(subtree){.level = 1, .index = 1}), 0);
    CHECK_EQUAL(piece_tree_add(tree, &(subtree){.level = 0, .index = 2}), EEXIST);
    CHECK_EQUAL(piece_tree_add(tree, &(subtree){.level = 0, .index = 3}), EEXIST);
    CHECK_EQUAL(piece_tree_add(tree, &(subtree){.level = 2, .index = 0}), EEXIST);
    CHECK_EQUAL(piece_tree_add(tree, &(subtree){.level = 2, .index = 1}), 0);
    CHECK_EQUAL(piece_tree_count(tree), 2);
    piece_tree_free(tree);
    tree = piece_tree_new(0);
    CHECK(tree != NULL);
    CHECK_EQUAL(piece_tree_add(tree, &(subtree){.level = 0, .index = 0}), EINVAL);
    piece_tree_free(tree);
    tree = piece_tree_new(UINT64_MAX);
    CHECK(tree != NULL);
    CHECK_EQUAL(piece_tree_add(tree, &(subtree){.level = 47, .index = 1}), 0);
    CHECK_EQUAL(piece_tree_next_unknown(tree, UINT64_C(1) << 47), UINT64_C(1) << 48);
    piece_tree_free(tree);
}

int main(void)
{
    RUN(known_content_has_the_sums_of_another_implementation);
    RUN(pieces_in_any_order_give_the_sum);
    RUN(pieces_in_order_take_little_memory);
    RUN(what_is_known_and_what_is_not_is_found);
    RUN(what_a_peer_must_not_claim_is_refused);
    return 0;
}
