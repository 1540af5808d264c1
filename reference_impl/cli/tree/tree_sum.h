/* SPDX-License-Identifier: BSD-2-Clause */
/* The sum of a file on disk, read from its beginning to its end. */
#ifndef NETBLT_CLI_TREE_SUM_H
#define NETBLT_CLI_TREE_SUM_H

#include <stdatomic.h>

#include "cli/tree/piece_hash.h"

/* Of the file `fd`, which should have `size` bytes. 0, or an errno value: EIO when it is shorter, ECANCELED when
 * *cancelled became true. */
int tree_sum_blake3(int fd, uint64_t size, const atomic_bool *cancelled, uint8_t sum[PIECE_HASH_BYTES]);
int tree_sum_sha256(int fd, uint64_t size, const atomic_bool *cancelled, uint8_t sum[PIECE_HASH_BYTES]);

#endif
