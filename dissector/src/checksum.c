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

    for (; i + 1 < length; i += 2) {
        sum += (uint64_t)((unsigned)bytes[i] << 8 | bytes[i + 1]);
    }
    if (i < length) {
        sum += (uint64_t)bytes[i] << 8;
    }
    return fold(sum);
}

uint16_t nb_expected_checksum(uint16_t sum_with_field, uint16_t found)
{
    /* Subtracting in ones-complement arithmetic is adding the complement. */
    return (uint16_t)~fold((uint64_t)sum_with_field + (uint16_t)~found);
}
