/* SPDX-License-Identifier: BSD-2-Clause */
/* The header of the data of each step of a tree transfer: see tree_header.h. */
#include "cli/tree/tree_header.h"

#include <stdlib.h>
#include <string.h>

#include "cli/tree/octets.h"
#include "cli/tree/piece_hash.h"

#define MAGIC_BYTES 4
#define VERSION 1
#define FLAG_MANIFEST 1U
#define CHECK_BYTES 8

static const uint8_t magic[MAGIC_BYTES] = {'N', 'B', 'T', 'T'};

static void put_number(uint8_t **at, uint64_t value, unsigned width)
{
    for (unsigned i = 0; i < width; i++)
        *(*at)++ = (uint8_t)(value >> 8 * (width - 1 - i));
}

void tree_header_encode(const tree_header *header, uint8_t bytes[TREE_HEADER_BYTES])
{
    uint8_t *at = bytes;
    uint8_t hash[PIECE_HASH_BYTES];
    memcpy(at, magic, MAGIC_BYTES);
    at += MAGIC_BYTES;
    put_number(&at, VERSION, 1);
    put_number(&at, header->data, 1);
    put_number(&at, header->sum, 1);
    put_number(&at, header->has_manifest ? FLAG_MANIFEST : 0, 1);
    put_number(&at, header->list_bytes, 8);
    put_number(&at, header->offset, 8);
    memcpy(at, header->manifest_id, sizeof header->manifest_id);
    at += sizeof header->manifest_id;
    memcpy(at, header->held_id, sizeof header->held_id);
    at += sizeof header->held_id;
    blake3_of(bytes, TREE_HEADER_BYTES - CHECK_BYTES, hash);
    memcpy(at, hash, CHECK_BYTES);
}

static const char *check(const tree_header *header, uint64_t flags)
{
    if (header->data != TREE_CONTENT && header->data != TREE_HELD)
        return "it holds data of an unknown kind";
    if (header->sum != TREE_SUM_BLAKE3 && header->sum != TREE_SUM_SHA256)
        return "it uses an unknown hash";
    if ((flags & ~(uint64_t)FLAG_MANIFEST) != 0 || (header->has_manifest && header->data != TREE_CONTENT))
        return "its flags are unknown";
    if (!header->has_manifest && header->data == TREE_CONTENT && header->list_bytes != 0)
        return "it announces a list that does not follow";
    return NULL;
}

int tree_header_decode(const uint8_t bytes[TREE_HEADER_BYTES], tree_header *header, netblt_failure *failure)
{
    octets_left from = {.at = bytes + MAGIC_BYTES, .length = TREE_HEADER_BYTES - MAGIC_BYTES};
    uint8_t hash[PIECE_HASH_BYTES];
    const char *wrong = NULL;
    uint64_t version = octets_take_number(&from, 1);
    uint64_t flags;
    header->data = (enum tree_data)octets_take_number(&from, 1);
    header->sum = (enum tree_sum)octets_take_number(&from, 1);
    flags = octets_take_number(&from, 1);
    header->has_manifest = (flags & FLAG_MANIFEST) != 0;
    header->list_bytes = octets_take_number(&from, 8);
    header->offset = octets_take_number(&from, 8);
    memcpy(header->manifest_id, octets_take(&from, sizeof header->manifest_id), sizeof header->manifest_id);
    memcpy(header->held_id, octets_take(&from, sizeof header->held_id), sizeof header->held_id);
    blake3_of(bytes, TREE_HEADER_BYTES - CHECK_BYTES, hash);
    if (memcmp(bytes, magic, MAGIC_BYTES) != 0)
        wrong = "they do not begin with its header";
    else if (memcmp(octets_take(&from, CHECK_BYTES), hash, CHECK_BYTES) != 0)
        wrong = "its header is damaged";
    else if (version != VERSION)
        wrong = "its version is unknown";
    else
        wrong = check(header, flags);
    if (wrong == NULL)
        return 0;
    return netblt_fail(failure, NETBLT_FAILURE_LOCAL, "the data are not those of a tree transfer: %s", wrong);
}
