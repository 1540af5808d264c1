/* SPDX-License-Identifier: BSD-2-Clause */
/* An allocator for endpoints under test that counts what they take, and can run out. */
#include "counted_memory.h"

#include <stdlib.h>
#include <string.h>

struct counted_memory counted = {.fail_after = -1};

static void count(size_t more, size_t less)
{
    counted.now_bytes += more;
    counted.now_bytes -= less;
    counted.peak_bytes = counted.now_bytes > counted.peak_bytes ? counted.now_bytes : counted.peak_bytes;
}

static bool fails(void)
{
    counted.calls++;
    if (counted.fail_after < 0)
        return false;
    counted.fail_after--;
    counted.failed |= counted.fail_after < 0;
    return counted.fail_after < 0;
}

static void *allocate(size_t bytes, void *context)
{
    (void)context;
    unsigned char *block = fails() ? NULL : malloc(COUNTED_HEAD_BYTES + bytes);
    if (block == NULL)
        return NULL;
    memset(block, 0x5A, COUNTED_HEAD_BYTES + bytes); /* nothing may rely on zero */
    memcpy(block, &bytes, sizeof bytes);
    count(COUNTED_HEAD_BYTES + bytes, 0);
    counted.blocks++;
    return block + COUNTED_HEAD_BYTES;
}

static void release(void *block, void *context)
{
    (void)context;
    if (block == NULL)
        return;
    size_t bytes;
    memcpy(&bytes, (unsigned char *)block - COUNTED_HEAD_BYTES, sizeof bytes);
    count(0, COUNTED_HEAD_BYTES + bytes);
    counted.blocks--;
    free((unsigned char *)block - COUNTED_HEAD_BYTES);
}

static void *reallocate(void *block, size_t bytes, void *context)
{
    if (block == NULL)
        return allocate(bytes, context);
    size_t before;
    memcpy(&before, (unsigned char *)block - COUNTED_HEAD_BYTES, sizeof before);
    unsigned char *moved =
        fails() ? NULL : realloc((unsigned char *)block - COUNTED_HEAD_BYTES, COUNTED_HEAD_BYTES + bytes);
    if (moved == NULL)
        return NULL;
    memcpy(moved, &bytes, sizeof bytes);
    count(bytes, before);
    return moved + COUNTED_HEAD_BYTES;
}

const netblt_allocator counted_allocator = {.allocate = allocate, .reallocate = reallocate, .release = release};
