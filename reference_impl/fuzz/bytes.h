/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads the input of a fuzz target byte by byte; after its end come zeros. */
#ifndef NETBLT_FUZZ_BYTES_H
#define NETBLT_FUZZ_BYTES_H

#include <stddef.h>
#include <stdint.h>

struct bytes {
    const uint8_t *at;
    size_t left;
};

static inline uint8_t take(struct bytes *in)
{
    if (in->left == 0)
        return 0;
    in->left--;
    return *in->at++;
}

static inline uint16_t take16(struct bytes *in)
{
    uint16_t high = take(in);
    return (uint16_t)(high << 8 | take(in));
}

#endif
