/* SPDX-License-Identifier: BSD-2-Clause */
/* The checksum of NETBLT (RFC 998 5.1), also fused with copying. */
#include "wire/checksum.h"

#include <string.h>

/* A ones-complement sum does not depend on the byte order in which its words are read, as long as the result is
 * swapped in the end; nor on how many words are added at a time, as long as no carry is lost. So the loops read native
 * words and add them, 32 bits of each, into 64-bit lanes, where no carry is lost for any length below 2^32 words. */

typedef uint64_t lanes __attribute__((vector_size(32)));
typedef uint64_t unaligned_lanes __attribute__((vector_size(32), aligned(1), may_alias));
#define KERNEL_BLOCK_BYTES 64
/* Buffers lie in memory, not in a cache, and the CPU's own prefetching stops at the end of each page: asking some pages
 * ahead halves the time for them. What lies ahead of a packet is mostly the next one; where it is not, nothing is lost.
 * Only for that side of a copy which is memory: the other one is a few packets' place, used again and again, and asking
 * for it too takes as long as it saves (docs/bench.md). */
#define KERNEL_AHEAD_BYTES 8192
#define KERNEL_FETCH(at, for_writing)                                                                                  \
    __builtin_prefetch((const void *)((uintptr_t)(at) + KERNEL_AHEAD_BYTES), (for_writing))

/* Whatever this build may use anyway: SSE2 on x86-64, NEON on arm64, plain words elsewhere. */
#define KERNEL(name) name##_baseline
#define KERNEL_TARGET
#include "wire/checksum_kernel.h"

#if defined(__x86_64__) && !defined(__AVX2__) && !defined(NETBLT_CHECKSUM_BASELINE)
#define HAVE_AVX2_KERNEL 1
#define KERNEL(name) name##_avx2
#define KERNEL_TARGET __attribute__((target("avx2")))
#include "wire/checksum_kernel.h"
#endif

static uint64_t sum_blocks(const uint8_t *from, size_t blocks)
{
#ifdef HAVE_AVX2_KERNEL
    if (__builtin_cpu_supports("avx2"))
        return sum_blocks_avx2(from, blocks);
#endif
    return sum_blocks_baseline(from, blocks);
}

static uint64_t copy_blocks(uint8_t *to, const uint8_t *from, size_t blocks, bool from_memory)
{
#ifdef HAVE_AVX2_KERNEL
    if (__builtin_cpu_supports("avx2"))
        return copy_blocks_avx2(to, from, blocks, from_memory);
#endif
    return copy_blocks_baseline(to, from, blocks, from_memory);
}

/* Fewer than KERNEL_BLOCK_BYTES bytes; the last 16 bits as if zero bytes followed. */
static uint64_t sum_rest(const uint8_t *from, size_t length)
{
    uint64_t sum = 0;
    uint64_t word;
    size_t i = 0;
    for (; i + sizeof word <= length; i += sizeof word) {
        memcpy(&word, from + i, sizeof word);
        sum += (word & 0xFFFFFFFF) + (word >> 32);
    }
    if (i == length)
        return sum;
    word = 0;
    memcpy(&word, from + i, length - i);
    return sum + (word & 0xFFFFFFFF) + (word >> 32);
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
    if (length == 0) /* the empty last buffer has no memory at all (AMB-41) */
        return 0;
    size_t blocks = length / KERNEL_BLOCK_BYTES;
    size_t whole = blocks * KERNEL_BLOCK_BYTES;
    uint64_t sum = blocks > 0 ? sum_blocks(bytes, blocks) : 0;
    return fold(sum + sum_rest(bytes + whole, length - whole));
}

static uint16_t copy_and_sum(uint8_t *to, const uint8_t *from, size_t length, bool from_memory)
{
    if (length == 0)
        return 0;
    size_t blocks = length / KERNEL_BLOCK_BYTES;
    size_t whole = blocks * KERNEL_BLOCK_BYTES;
    uint64_t sum = blocks > 0 ? copy_blocks(to, from, blocks, from_memory) : 0;
    memcpy(to + whole, from + whole, length - whole);
    return fold(sum + sum_rest(from + whole, length - whole));
}

/* Whether `sum` with `value` added is all ones. */
static bool completes(uint16_t sum, uint16_t value)
{
    uint32_t total = (uint32_t)sum + value;
    total = (total & 0xFFFF) + (total >> 16);
    return total == 0xFFFF;
}

uint16_t nb_checksum(const uint8_t *bytes, size_t length)
{
    return (uint16_t)~ones_complement_sum(bytes, length);
}

uint16_t nb_checksum_copy(uint8_t *to, const uint8_t *from, size_t length)
{
    return (uint16_t)~copy_and_sum(to, from, length, true);
}

bool nb_checksum_copy_matches(uint8_t *to, const uint8_t *from, size_t length, uint16_t value)
{
    return completes(copy_and_sum(to, from, length, false), value);
}

bool nb_checksum_holds(const uint8_t *bytes, size_t length)
{
    return ones_complement_sum(bytes, length) == 0xFFFF;
}

bool nb_checksum_matches(const uint8_t *bytes, size_t length, uint16_t value)
{
    return completes(ones_complement_sum(bytes, length), value);
}
