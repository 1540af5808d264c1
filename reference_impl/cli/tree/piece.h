/* SPDX-License-Identifier: BSD-2-Clause */
/* Pieces of a file: the units of hashes and of resume in tree transfers. */
#ifndef NETBLT_CLI_PIECE_H
#define NETBLT_CLI_PIECE_H

#include <stdint.h>

#define PIECE_BYTES UINT64_C(65536)

/* Pieces of a file of `size` bytes. */
static inline uint64_t manifest_pieces(uint64_t size)
{
    return size / PIECE_BYTES + (size % PIECE_BYTES != 0);
}

#endif
