/* SPDX-License-Identifier: BSD-2-Clause */
#include "counted_memory.h"

#include <string.h>

void *__real_malloc(size_t bytes);
void *__real_realloc(void *block, size_t bytes);
void __real_free(void *block);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t items, size_t bytes);
void *__wrap_realloc(void *block, size_t bytes);
void __wrap_free(void *block);

struct counted_memory counted = {.fail_after = -1};

static void count(size_t more, size_t less)
{
    counted.now_bytes += more;
    counted.now_bytes -= less;
    counted.peak_bytes = counted.now_bytes > counted.peak_bytes ? counted.now_bytes : counted.peak_bytes;
}

static bool fails(void)
{
    if (counted.fail_after < 0)
        return false;
    counted.fail_after--;
    counted.failed |= counted.fail_after < 0;
    return counted.fail_after < 0;
}

void *__wrap_malloc(size_t bytes)
{
    unsigned char *block = fails() ? NULL : __real_malloc(COUNTED_HEAD_BYTES + bytes);
    if (block == NULL)
        return NULL;
    memcpy(block, &bytes, sizeof bytes);
    count(COUNTED_HEAD_BYTES + bytes, 0);
    counted.blocks++;
    return block + COUNTED_HEAD_BYTES;
}

void *__wrap_calloc(size_t items, size_t bytes)
{
    void *block = __wrap_malloc(items * bytes);
    return block == NULL ? NULL : memset(block, 0, items * bytes);
}

void __wrap_free(void *block)
{
    if (block == NULL)
        return;
    size_t bytes;
    memcpy(&bytes, (unsigned char *)block - COUNTED_HEAD_BYTES, sizeof bytes);
    count(0, COUNTED_HEAD_BYTES + bytes);
    counted.blocks--;
    __real_free((unsigned char *)block - COUNTED_HEAD_BYTES);
}

void *__wrap_realloc(void *block, size_t bytes)
{
    if (block == NULL)
        return __wrap_malloc(bytes);
    size_t before;
    memcpy(&before, (unsigned char *)block - COUNTED_HEAD_BYTES, sizeof before);
    unsigned char *moved =
        fails() ? NULL : __real_realloc((unsigned char *)block - COUNTED_HEAD_BYTES, COUNTED_HEAD_BYTES + bytes);
    if (moved == NULL)
        return NULL;
    memcpy(moved, &bytes, sizeof bytes);
    count(bytes, before);
    return moved + COUNTED_HEAD_BYTES;
}
