/* SPDX-License-Identifier: BSD-2-Clause */
/* The sum of a file on disk: see tree_sum.h. */
#include "cli/tree/tree_sum.h"

#include <errno.h>
#include <openssl/evp.h>

#include "cli/tree/manifest.h"
#include "cli/tree/tree_disk.h"

/* Gets a file's pieces, in order. 0, or an errno value. */
typedef int take_piece(void *context, const uint8_t *bytes, size_t length, uint64_t piece);

static int read_file(int fd, uint64_t size, const atomic_bool *cancelled, take_piece *take, void *context)
{
    uint8_t bytes[PIECE_BYTES];
    int error = 0;
    for (uint64_t offset = 0; offset < size && error == 0; offset += PIECE_BYTES) {
        size_t length = (size_t)(size - offset < PIECE_BYTES ? size - offset : PIECE_BYTES);
        error = *cancelled ? ECANCELED : tree_disk_read(fd, bytes, length, offset);
        if (error == 0)
            error = take(context, bytes, length, offset / PIECE_BYTES);
    }
    return error;
}

typedef struct tree_taker {
    piece_tree *pieces;
    bool only;
} tree_taker;

static int take_by_tree(void *context, const uint8_t *bytes, size_t length, uint64_t piece)
{
    const tree_taker *to = context;
    subtree known = {.index = piece};
    piece_hash(bytes, length, piece, to->only, known.hash);
    return piece_tree_add(to->pieces, &known);
}

int tree_sum_blake3(int fd, uint64_t size, const atomic_bool *cancelled, uint8_t sum[PIECE_HASH_BYTES])
{
    tree_taker to = {.pieces = piece_tree_new(size), .only = manifest_pieces(size) == 1};
    int error = to.pieces == NULL ? ENOMEM : read_file(fd, size, cancelled, take_by_tree, &to);
    if (error == 0 && !piece_tree_sum(to.pieces, sum))
        error = EINVAL;
    piece_tree_free(to.pieces);
    return error;
}

static int take_by_sha256(void *context, const uint8_t *bytes, size_t length, uint64_t piece)
{
    (void)piece;
    return EVP_DigestUpdate(context, bytes, length) == 1 ? 0 : ENOTSUP;
}

int tree_sum_sha256(int fd, uint64_t size, const atomic_bool *cancelled, uint8_t sum[PIECE_HASH_BYTES])
{
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    int error = context == NULL ? ENOMEM : 0;
    if (error == 0 && EVP_DigestInit_ex(context, EVP_sha256(), NULL) != 1)
        error = ENOTSUP;
    if (error == 0)
        error = read_file(fd, size, cancelled, take_by_sha256, context);
    if (error == 0 && EVP_DigestFinal_ex(context, sum, NULL) != 1)
        error = ENOTSUP;
    EVP_MD_CTX_free(context);
    return error;
}
