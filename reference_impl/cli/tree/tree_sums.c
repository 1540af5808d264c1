/* SPDX-License-Identifier: BSD-2-Clause */
/* Sums of the files of a tree transfer, at its sender: see tree_sums.h. */
#include "cli/tree/tree_sums.h"

#include <errno.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#define NO_ENTRY UINT32_MAX

typedef struct known_sum {
    bool known;
    uint8_t sum[PIECE_HASH_BYTES];
} known_sum;

struct tree_sums {
    const manifest *all;
    enum tree_sum kind;
    known_sum *of; /* each entry */

    /* The file that is hashed. */
    uint32_t entry; /* NO_ENTRY: none */
    uint64_t pieces;
    piece_tree *tree; /* BLAKE3 */
    EVP_MD_CTX *sha;  /* SHA-256 of the pieces before `hashed` */
    uint64_t hashed;
};

tree_sums *tree_sums_new(const manifest *all, enum tree_sum kind)
{
    tree_sums *sums = calloc(1, sizeof *sums);
    if (sums == NULL)
        return NULL;
    *sums = (tree_sums){.all = all, .kind = kind, .entry = NO_ENTRY};
    sums->of = calloc((size_t)all->count + 1, sizeof *sums->of);
    if (kind == TREE_SUM_SHA256)
        sums->sha = EVP_MD_CTX_new();
    if (sums->of != NULL && (kind != TREE_SUM_SHA256 || sums->sha != NULL))
        return sums;
    tree_sums_free(sums);
    return NULL;
}

void tree_sums_free(tree_sums *sums)
{
    if (sums == NULL)
        return;
    piece_tree_free(sums->tree);
    EVP_MD_CTX_free(sums->sha);
    free(sums->of);
    free(sums);
}

bool tree_sums_get(const tree_sums *sums, uint32_t entry, uint8_t sum[PIECE_HASH_BYTES])
{
    if (sums->of[entry].known)
        memcpy(sum, sums->of[entry].sum, PIECE_HASH_BYTES);
    return sums->of[entry].known;
}

/* What is known already of a subtree is known as well without it. */
static int add_held(tree_sums *sums, const held_entry *held)
{
    int error = 0;
    for (uint32_t i = 0; held != NULL && i < held->subtree_count && (error == 0 || error == EEXIST); i++)
        error = piece_tree_add(sums->tree, &held->subtrees[i]);
    return error == EEXIST ? 0 : error;
}

int tree_sums_begin(tree_sums *sums, uint32_t entry, const held_entry *held)
{
    uint64_t size = sums->all->entries[entry].size;
    bool goes_on = sums->entry == entry;
    sums->entry = entry;
    sums->pieces = manifest_pieces(size);
    if (sums->kind == TREE_SUM_SHA256) {
        if (!goes_on && EVP_DigestInit_ex(sums->sha, EVP_sha256(), NULL) != 1)
            return ENOTSUP; /* a configuration of OpenSSL may forbid it */
        sums->hashed = goes_on ? sums->hashed : 0;
        return 0;
    }
    if (!goes_on) {
        piece_tree_free(sums->tree);
        sums->tree = piece_tree_new(size);
    }
    return sums->tree == NULL ? ENOMEM : add_held(sums, held);
}

uint64_t tree_sums_next(const tree_sums *sums)
{
    return sums->kind == TREE_SUM_SHA256 ? sums->hashed : piece_tree_next_unknown(sums->tree, 0);
}

bool tree_sums_needs_before(const tree_sums *sums, uint64_t piece)
{
    return sums->kind == TREE_SUM_SHA256 && sums->hashed < piece;
}

int tree_sums_add(tree_sums *sums, uint64_t piece, const uint8_t *bytes, size_t length,
                  const uint8_t hash[PIECE_HASH_BYTES])
{
    subtree known = {.level = 0, .index = piece};
    int error;
    if (sums->kind == TREE_SUM_SHA256) {
        if (piece != sums->hashed)
            return 0;
        sums->hashed++;
        return EVP_DigestUpdate(sums->sha, bytes, length) == 1 ? 0 : ENOTSUP;
    }
    memcpy(known.hash, hash, PIECE_HASH_BYTES);
    error = piece_tree_add(sums->tree, &known);
    return error == EEXIST ? 0 : error;
}

int tree_sums_end(tree_sums *sums, uint8_t sum[PIECE_HASH_BYTES])
{
    known_sum *known = &sums->of[sums->entry];
    unsigned length = 0;
    if (sums->kind == TREE_SUM_SHA256)
        known->known = EVP_DigestFinal_ex(sums->sha, known->sum, &length) == 1;
    else
        known->known = piece_tree_sum(sums->tree, known->sum);
    sums->entry = NO_ENTRY;
    memcpy(sum, known->sum, PIECE_HASH_BYTES);
    return known->known ? 0 : EIO;
}
