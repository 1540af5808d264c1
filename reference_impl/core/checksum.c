/* SPDX-License-Identifier: BSD-2-Clause */
#include "checksum.h"

#include <string.h>

/* A ones-complement sum does not depend on the byte order in which its words are read, as long as the result is
 * swapped in the end: so the loops read native 32-bit words and add them into 64 bits, where no carry is lost for any
 * length below 2^32 words. */

static uint32_t load32(const uint8_t *bytes)
{
    uint32_t word;
    memcpy(&word, bytes, sizeof word);
    return word;
}

/* The last 0 to 3 bytes, as if zero bytes followed. */
static uint32_t load_tail(const uint8_t *bytes, size_t length)
{
    uint32_t word = 0;
    memcpy(&word, bytes, length);
    return word;
}

/* From a native 64-bit sum to the 16-bit ones-complement sum of big-endian words. */
static uint16_t fold(uint64_t sum)
{
    sum = (sum & 0xFFFFFFFF) + (sum >> 32);
    sum = (sum & 0xFFFFFFFF) + (sum >> 32);
    sum = (sum & 0xFFFF) + (sum >> 16);
    sum = (sum & 0xFFFF) + (sum >> 16);
    uint8_t in_memory_order[2];
    uint16_t native = (uint16_t)sum;
    memcpy(in_memory_order, &native, sizeof native);
    return (uint16_t)(in_memory_order[0] << 8 | in_memory_order[1]);
}

static uint16_t ones_complement_sum(const uint8_t *bytes, size_t length)
{
    uint64_t even = 0;
    uint64_t odd = 0;
    size_t i = 0;
    for (; i + 16 <= length; i += 16) {
        even += (uint64_t)load32(bytes + i) + load32(bytes + i + 8);
        odd += (uint64_t)load32(bytes + i + 4) + load32(bytes + i + 12);
    }
    for (; i + 4 <= length; i += 4)
        even += load32(bytes + i);
    even += load_tail(bytes + i, length - i);
    return fold(even + odd);
}

uint16_t nb_checksum(const uint8_t *bytes, size_t length)
{
    return (uint16_t)~ones_complement_sum(bytes, length);
}

uint16_t nb_checksum_copy(uint8_t *to, const uint8_t *from, size_t length)
{
    if (length == 0) /* the empty last buffer has no memory at all (AMB-41) */
        return 0xFFFF;
    uint64_t even = 0;
    uint64_t odd = 0;
    size_t i = 0;
    for (; i + 16 <= length; i += 16) {
        uint32_t words[4];
        memcpy(words, from + i, sizeof words);
        memcpy(to + i, words, sizeof words);
        even += (uint64_t)words[0] + words[2];
        odd += (uint64_t)words[1] + words[3];
    }
    if (i < length)
        memcpy(to + i, from + i, length - i);
    for (; i + 4 <= length; i += 4)
        even += load32(from + i);
    even += load_tail(from + i, length - i);
    return (uint16_t)~fold(even + odd);
}

bool nb_checksum_holds(const uint8_t *bytes, size_t length)
{
    return ones_complement_sum(bytes, length) == 0xFFFF;
}

bool nb_checksum_matches(const uint8_t *bytes, size_t length, uint16_t value)
{
    uint32_t sum = (uint32_t)ones_complement_sum(bytes, length) + value;
    sum = (sum & 0xFFFF) + (sum >> 16);
    return sum == 0xFFFF;
}
