/* SPDX-License-Identifier: BSD-2-Clause */
/* Encoded lists: integers in network byte order and bytes, added to memory that grows, and taken from memory of a peer.
 */
#ifndef NETBLT_CLI_OCTETS_H
#define NETBLT_CLI_OCTETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All zero is an empty one. */
typedef struct octets {
    uint8_t *bytes; /* of malloc(); the caller frees it */
    size_t length;
    size_t capacity;
    bool failed; /* memory is short; what is added after that counts for nothing */
} octets;

void octets_add(octets *to, const void *bytes, size_t length);
/* The low `width` bytes of `value`, 1 to 8. */
void octets_add_number(octets *to, uint64_t value, unsigned width);

/* What is left to take. */
typedef struct octets_left {
    const uint8_t *at;
    size_t length;
    bool failed; /* more was taken than there is; all that is taken after that is 0 or NULL */
} octets_left;

uint64_t octets_take_number(octets_left *from, unsigned width);
/* NULL when there are fewer bytes. */
const uint8_t *octets_take(octets_left *from, size_t length);

#endif
