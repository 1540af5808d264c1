/* SPDX-License-Identifier: BSD-2-Clause */
/* Copies of structures whose size depends on the header that a program was compiled with. */
#include "base/versioned.h"

#include <string.h>

static size_t size_of(const void *structure)
{
    size_t size;
    memcpy(&size, structure, sizeof size);
    return size;
}

static bool is_zero(const unsigned char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (bytes[i] != 0)
            return false;
    return true;
}

bool nb_versioned_read(void *known, size_t known_bytes, const void *program, size_t least_bytes)
{
    size_t bytes = size_of(program);
    if (bytes < least_bytes)
        return false;
    if (bytes > known_bytes) {
        if (!is_zero((const unsigned char *)program + known_bytes, bytes - known_bytes))
            return false;
        bytes = known_bytes;
    }
    memcpy(known, program, bytes);
    memcpy(known, &known_bytes, sizeof known_bytes);
    return true;
}

void nb_versioned_write(void *program, size_t program_bytes, const void *known, size_t known_bytes)
{
    size_t bytes = program_bytes < known_bytes ? program_bytes : known_bytes;
    memcpy(program, known, bytes);
    memset((unsigned char *)program + bytes, 0, program_bytes - bytes);
}
