/* SPDX-License-Identifier: BSD-2-Clause */
/* SipHash-2-4: a keyed hash whose values cannot be predicted without the key. */
#ifndef NETBLT_CORE_KEYED_HASH_H
#define NETBLT_CORE_KEYED_HASH_H

#include <stddef.h>
#include <stdint.h>

struct nb_hash_key {
    uint64_t words[2];
};

/* The key in 16 bytes, little-endian. */
struct nb_hash_key nb_hash_key_read(const uint8_t bytes[16]);
/* The hash of `length` bytes; `bytes` may be NULL when length is 0. */
uint64_t nb_keyed_hash(const struct nb_hash_key *key, const void *bytes, size_t length);

#endif
