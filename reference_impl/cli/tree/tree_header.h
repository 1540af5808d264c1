/* SPDX-License-Identifier: BSD-2-Clause */
/* The header of the data of each step of a tree transfer (docs/tree-transfer.md). */
#ifndef NETBLT_CLI_TREE_HEADER_H
#define NETBLT_CLI_TREE_HEADER_H

#include <stdbool.h>
#include <stdint.h>

#include "io/failure.h"

#define TREE_HEADER_BYTES 56

enum tree_data { TREE_CONTENT = 1, TREE_HELD = 2 };
enum tree_sum { TREE_SUM_BLAKE3 = 1, TREE_SUM_SHA256 = 2 };

typedef struct tree_header {
    enum tree_data data;
    enum tree_sum sum;
    bool has_manifest;
    uint64_t list_bytes; /* of the manifest or held list that follows */
    uint64_t offset;     /* in the content, of the first content byte */
    uint8_t manifest_id[16];
    uint8_t held_id[8];
} tree_header;

void tree_header_encode(const tree_header *header, uint8_t bytes[TREE_HEADER_BYTES]);
/* 0, or -1 with *failure that names the field. */
int tree_header_decode(const uint8_t bytes[TREE_HEADER_BYTES], tree_header *header, netblt_failure *failure);

#endif
