/* SPDX-License-Identifier: BSD-2-Clause */
/* Entry point of the fuzz targets, and what they share. */
#ifndef NETBLT_FUZZ_FUZZ_H
#define NETBLT_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* What the fuzz targets share. Each is linked with libFuzzer (NETBLT_FUZZ), or with replay.c, which runs what is kept.
 */

#define FUZZ_CHECK(condition)                                                                                          \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: %s: not true: %s\n", __FILE__, __LINE__, __func__, #condition);                    \
            abort();                                                                                                   \
        }                                                                                                              \
    } while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Makes the checksum right of a packet whose Length field can be. */
void fuzz_repair(uint8_t *packet, size_t size);

#endif
