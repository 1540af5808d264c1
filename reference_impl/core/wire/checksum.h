/* SPDX-License-Identifier: BSD-2-Clause */
/* The checksum of NETBLT (RFC 998 5.1), also fused with copying. */
#ifndef NETBLT_CORE_CHECKSUM_H
#define NETBLT_CORE_CHECKSUM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The checksum of RFC 998 5.1 (CKSUM-02): bitwise negation of the ones-complement sum of 16-bit big-endian words. No
 * pseudo-header (AMB-05); a single last byte is summed with a virtual zero byte after it (AMB-06). */

/* The value to put into a checksum field. The field itself must be zero, or lie outside, while summing. */
uint16_t nb_checksum(const uint8_t *bytes, size_t length);

/* Copies `length` bytes and returns their checksum: one pass over data that leaves. No overlap. */
uint16_t nb_checksum_copy(uint8_t *to, const uint8_t *from, size_t length);

/* Copies `length` bytes and returns whether `value`, carried outside of them, is their checksum: one pass over data
 * that arrives. The copy is made either way: what lay at `to` before must not be needed. No overlap. */
bool nb_checksum_copy_matches(uint8_t *to, const uint8_t *from, size_t length, uint16_t value);

/* Whether bytes that include their checksum field sum to 0xFFFF. That accepts both forms of zero (AMB-05). */
bool nb_checksum_holds(const uint8_t *bytes, size_t length);

/* Whether `value`, carried outside of the bytes, is their checksum; both forms of zero are accepted. */
bool nb_checksum_matches(const uint8_t *bytes, size_t length, uint16_t value);

#endif
