/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "checksum.h"

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
    const uint8_t *bytes = tvb_get_ptr(tvb, offset, length);
    uint64_t sum = 0;
    int i = 0;

    /* The sum of words with their bytes swapped is the swapped sum (RFC 1071), so four bytes may be taken at a time as
     * they lie in memory. */
    for (; i + 4 <= length; i += 4) {
        uint32_t word;
        memcpy(&word, bytes + i, sizeof(word));
        sum += word;
    }
    uint8_t rest[4] = {0};
    memcpy(rest, bytes + i, (size_t)(length - i));
    uint32_t last;
    memcpy(&last, rest, sizeof(last));
    return GUINT16_FROM_BE(fold(sum + last));
}

uint16_t nb_expected_checksum(uint16_t sum_with_field, uint16_t found)
{
    /* Subtracting in ones-complement arithmetic is adding the complement. */
    return (uint16_t)~fold((uint64_t)sum_with_field + (uint16_t)~found);
}
