/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Checksums of RFC 998 5.1: sums, and which variants of them fit a packet. */
#ifndef NETBLT_CHECKSUM_H
#define NETBLT_CHECKSUM_H

#include "wireshark/compat.h"

/* Ones-complement sum (not complemented) of bytes offset..offset+length-1 as big-endian 16-bit words; a single last
 * byte is summed with a virtual zero byte (CKSUM-02, AMB-06). The bytes must have been captured. */
uint16_t nb_sum(tvbuff_t *tvb, int offset, int length);

/* A field that is part of the summed bytes fits when the whole sum is all ones; both zeros are accepted (AMB-05). */
static inline bool nb_sum_fits(uint16_t sum)
{
    return sum == 0xFFFF;
}

/* CKSUM-04: does a data checksum field of value `found` fit data with this sum? Both zeros alike. */
static inline bool nb_data_sum_fits(uint16_t sum, uint16_t found)
{
    return (uint16_t)(sum ^ found) == 0xFFFF || (sum % 0xFFFF == 0 && found % 0xFFFF == 0);
}

/* The value that a checksum field of value `found` should have had, given the sum over bytes that include it. */
uint16_t nb_expected_checksum(uint16_t sum_with_field, uint16_t found);

#endif
