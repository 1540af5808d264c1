/* SPDX-License-Identifier: BSD-2-Clause */
/* An allocator that runs short when a fuzz target wants it to. The linker puts it between the core and the C library;
 * the targets themselves take what they need from fuzz_malloc() and its like. */
#include "memory.h"

#include "fuzz.h"

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t items, size_t bytes);
void *__real_realloc(void *block, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t items, size_t bytes);
void *__wrap_realloc(void *block, size_t bytes);

static unsigned passes_left, failures_left;

void fuzz_memory_fails(unsigned passes, unsigned failures)
{
    passes_left = passes;
    failures_left = failures;
}

static bool fails(void)
{
    if (failures_left == 0)
        return false;
    if (passes_left > 0) {
        passes_left--;
        return false;
    }
    failures_left--;
    return true;
}

void *__wrap_malloc(size_t bytes)
{
    return fails() ? NULL : __real_malloc(bytes);
}

void *__wrap_calloc(size_t items, size_t bytes)
{
    return fails() ? NULL : __real_calloc(items, bytes);
}

void *__wrap_realloc(void *block, size_t bytes)
{
    return fails() ? NULL : __real_realloc(block, bytes);
}

void *fuzz_malloc(size_t bytes)
{
    void *block = __real_malloc(bytes == 0 ? 1 : bytes);
    FUZZ_CHECK(block != NULL);
    return block;
}

void *fuzz_calloc(size_t items, size_t bytes)
{
    void *block = __real_calloc(items, bytes);
    FUZZ_CHECK(block != NULL);
    return block;
}

void *fuzz_realloc(void *block, size_t bytes)
{
    void *bigger = __real_realloc(block, bytes);
    FUZZ_CHECK(bigger != NULL);
    return bigger;
}
