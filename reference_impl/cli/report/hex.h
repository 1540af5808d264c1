/* SPDX-License-Identifier: BSD-2-Clause */
/* Bytes as hexadecimal digits. */
#ifndef NETBLT_CLI_HEX_H
#define NETBLT_CLI_HEX_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Fills `text` with two lower-case digits for each of `count` bytes, and a NUL. */
static inline void hex_text(const uint8_t *bytes, size_t count, char *text)
{
    for (size_t i = 0; i < count; i++)
        snprintf(text + 2 * i, 3, "%02x", bytes[i]);
}

#endif
