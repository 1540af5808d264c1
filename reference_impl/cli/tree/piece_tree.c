/* SPDX-License-Identifier: BSD-2-Clause */
/* The known subtrees of a file's BLAKE3 tree, joined as far as possible: see piece_hash.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/tree/grow.h"
#include "cli/tree/piece.h"
#include "cli/tree/piece_hash.h"

/* 2^48 pieces of 2^16 bytes are more than a size of 64 bits can state. */
#define LEVEL_MAX 47

struct piece_tree {
    uint64_t pieces;
    uint64_t known_pieces;
    subtree *known; /* ascending, no two of them siblings unless they are the two halves of the file */
    size_t count;
    size_t room;
};

piece_tree *piece_tree_new(uint64_t size)
{
    piece_tree *tree = calloc(1, sizeof *tree);
    if (tree != NULL)
        tree->pieces = manifest_pieces(size);
    return tree;
}

void piece_tree_free(piece_tree *tree)
{
    if (tree == NULL)
        return;
    free(tree->known);
    free(tree);
}

static uint64_t first_piece(const subtree *known)
{
    return known->index << known->level;
}

static uint64_t end_piece(const subtree *known)
{
    return (known->index + 1) << known->level;
}

/* The first known subtree that ends after `piece`: the one that holds it, or the next one. */
static size_t find(const piece_tree *tree, uint64_t piece)
{
    size_t low = 0;
    size_t high = tree->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (end_piece(&tree->known[middle]) <= piece)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The value of a whole file is its sum, made in another way than that of a part, so it is none of the known ones; the
 * one piece of a small file is. */
static bool is_whole(const piece_tree *tree, unsigned level)
{
    return tree->pieces > 1 && UINT64_C(1) << level == tree->pieces;
}

static bool fits(const piece_tree *tree, const subtree *known)
{
    return known->level <= LEVEL_MAX && known->index < tree->pieces >> known->level && !is_whole(tree, known->level);
}

static bool make_room(piece_tree *tree)
{
    subtree *known = grow(tree->known, tree->count, &tree->room, sizeof *known);
    if (known == NULL)
        return false;
    tree->known = known;
    return true;
}

static bool can_join(const piece_tree *tree, size_t left)
{
    const subtree *pair = &tree->known[left];
    return left + 1 < tree->count && pair[0].level == pair[1].level && pair[0].index % 2 == 0 &&
           pair[1].index == pair[0].index + 1 && !is_whole(tree, pair[0].level + 1u);
}

/* Joins the subtree at `place` with its sibling, what comes of it with its own, and so on. */
static void join_from(piece_tree *tree, size_t place)
{
    for (;;) {
        size_t left = place > 0 && tree->known[place].index % 2 != 0 ? place - 1 : place;
        subtree *pair = &tree->known[left];
        if (!can_join(tree, left))
            return;
        piece_hash_join(pair[0].hash, pair[1].hash, false, pair[0].hash);
        pair[0].index /= 2;
        pair[0].level++;
        tree->count--;
        memmove(&pair[1], &pair[2], (tree->count - left - 1) * sizeof *pair);
        place = left;
    }
}

int piece_tree_add(piece_tree *tree, const subtree *known)
{
    size_t place;
    if (!fits(tree, known))
        return EINVAL;
    place = find(tree, first_piece(known));
    if (place < tree->count && first_piece(&tree->known[place]) < end_piece(known))
        return EEXIST;
    if (!make_room(tree))
        return ENOMEM;
    memmove(&tree->known[place + 1], &tree->known[place], (tree->count - place) * sizeof *known);
    tree->known[place] = *known;
    tree->count++;
    tree->known_pieces += end_piece(known) - first_piece(known);
    join_from(tree, place);
    return 0;
}

bool piece_tree_has(const piece_tree *tree, uint64_t piece)
{
    size_t place = find(tree, piece);
    return place < tree->count && first_piece(&tree->known[place]) <= piece;
}

uint64_t piece_tree_next_unknown(const piece_tree *tree, uint64_t piece)
{
    for (size_t i = find(tree, piece); i < tree->count && first_piece(&tree->known[i]) <= piece; i++)
        piece = end_piece(&tree->known[i]);
    return piece < tree->pieces ? piece : tree->pieces;
}

uint64_t piece_tree_next_known(const piece_tree *tree, uint64_t piece)
{
    size_t place = find(tree, piece);
    if (place == tree->count)
        return tree->pieces;
    return first_piece(&tree->known[place]) > piece ? first_piece(&tree->known[place]) : piece;
}

size_t piece_tree_count(const piece_tree *tree)
{
    return tree->count;
}

const subtree *piece_tree_list(const piece_tree *tree)
{
    return tree->known;
}

bool piece_tree_sum(const piece_tree *tree, uint8_t sum[PIECE_HASH_BYTES])
{
    if (tree->known_pieces != tree->pieces)
        return false;
    if (tree->count == 0) {
        blake3_of(NULL, 0, sum);
        return true;
    }
    memcpy(sum, tree->known[tree->count - 1].hash, PIECE_HASH_BYTES);
    for (size_t i = tree->count - 1; i > 0; i--)
        piece_hash_join(tree->known[i - 1].hash, sum, i == 1, sum);
    return true;
}
