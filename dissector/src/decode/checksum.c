/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Checksums of RFC 998 5.1: sums, and which variants of them fit a packet. */
#include "decode/checksum.h"

static uint16_t fold(uint64_t sum)
{
    while (sum > 0xFFFF) {
        sum = (sum & 0xFFFF) + (sum >> 16);
    }
    return (uint16_t)sum;
}

uint16_t nb_sum(tvbuff_t *tvb, int offset, int length)
{
    if (length <= 0) {
        return 0;
    }
    enum { LANES = 4, ROUND_BYTES = LANES * sizeof(uint64_t) };
    const uint8_t *bytes = tvb_get_ptr(tvb, offset, length);
    uint64_t lane[LANES] = {0};
    uint64_t words[LANES];

    /* The sum of words with their bytes swapped is the swapped sum (RFC 1071), so eight bytes may be taken at a time as
     * they lie in memory, in lanes that do not wait for each other. */
    for (int i = 0; i < length; i += ROUND_BYTES) {
        if (i + ROUND_BYTES > length) {
            memset(words, 0, sizeof(words));
            memcpy(words, bytes + i, (size_t)(length - i));
        } else {
            memcpy(words, bytes + i, ROUND_BYTES);
        }
        for (int n = 0; n < LANES; n++) {
            lane[n] += (words[n] & UINT32_MAX) + (words[n] >> 32);
        }
    }
    return GUINT16_FROM_BE(fold(lane[0] + lane[1] + lane[2] + lane[3]));
}

uint16_t nb_expected_checksum(uint16_t sum_with_field, uint16_t found)
{
    /* Subtracting in ones-complement arithmetic is adding the complement. */
    return (uint16_t)~fold((uint64_t)sum_with_field + (uint16_t)~found);
}
