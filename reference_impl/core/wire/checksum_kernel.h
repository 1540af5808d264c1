/* SPDX-License-Identifier: BSD-2-Clause */
/* The inner loops of checksum.c, included there once for each instruction set: KERNEL(name) makes the names,
 * KERNEL_TARGET chooses the instructions. (A function with vectors of a size that its target lacks is cut into smaller
 * ones before it could be inlined or cloned for a better target, so one body cannot serve both.) */

/* Sum of all whole blocks. The even and the uneven words of two vectors have sums of their own: four chains of
 * additions that do not wait for one another. */
KERNEL_TARGET static uint64_t KERNEL(sum_blocks)(const uint8_t *from, size_t blocks)
{
    const lanes word = {0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF};
    lanes a_even = {0};
    lanes a_odd = {0};
    lanes b_even = {0};
    lanes b_odd = {0};
    for (const uint8_t *end = from + blocks * KERNEL_BLOCK_BYTES; from != end; from += KERNEL_BLOCK_BYTES) {
        KERNEL_FETCH(from, 0);
        lanes a = *(const unaligned_lanes *)from;
        lanes b = *(const unaligned_lanes *)(from + sizeof a);
        a_even += a & word;
        a_odd += a >> 32;
        b_even += b & word;
        b_odd += b >> 32;
    }
    lanes all = a_even + a_odd + b_even + b_odd;
    return all[0] + all[1] + all[2] + all[3];
}

/* The same while copying. One of the two places is memory that no cache holds, the other is used again and again. */
KERNEL_TARGET static uint64_t KERNEL(copy_blocks)(uint8_t *to, const uint8_t *from, size_t blocks, bool from_memory)
{
    const lanes word = {0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF};
    lanes a_even = {0};
    lanes a_odd = {0};
    lanes b_even = {0};
    lanes b_odd = {0};
    for (const uint8_t *end = from + blocks * KERNEL_BLOCK_BYTES; from != end; from += KERNEL_BLOCK_BYTES) {
        if (from_memory)
            KERNEL_FETCH(from, 0);
        else
            KERNEL_FETCH(to, 1);
        lanes a = *(const unaligned_lanes *)from;
        lanes b = *(const unaligned_lanes *)(from + sizeof a);
        *(unaligned_lanes *)to = a;
        *(unaligned_lanes *)(to + sizeof a) = b;
        a_even += a & word;
        a_odd += a >> 32;
        b_even += b & word;
        b_odd += b >> 32;
        to += KERNEL_BLOCK_BYTES;
    }
    lanes all = a_even + a_odd + b_even + b_odd;
    return all[0] + all[1] + all[2] + all[3];
}

#undef KERNEL
#undef KERNEL_TARGET
