/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/perf/perf_memory.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* xorshift64: noise that no link layer compresses, at memory speed. */
static void fill(uint8_t *bytes, size_t size)
{
    uint64_t state = 0x9e3779b97f4a7c15u;
    for (size_t i = 0; i + sizeof state <= size; i += sizeof state) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        memcpy(bytes + i, &state, sizeof state);
    }
}

bool perf_memory_reserve(perf_memory *memory, size_t size)
{
    void *bytes = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    *memory = (perf_memory){.size = 0};
    if (bytes == MAP_FAILED)
        return false;
    *memory = (perf_memory){.bytes = bytes, .size = size};
    return true;
}

void perf_memory_share(perf_memory *memory, const perf_memory *owner)
{
    *memory = (perf_memory){.bytes = owner->bytes, .size = owner->size, .filled = true, .shared = true};
}

bool perf_memory_new(perf_memory *memory, size_t size)
{
    void *bytes = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    *memory = (perf_memory){.size = 0};
    if (bytes == MAP_FAILED)
        return false;
    (void)madvise(bytes, size, MADV_HUGEPAGE); /* fewer TLB misses, where the kernel likes */
    fill(bytes, size);
    *memory = (perf_memory){.bytes = bytes, .size = size, .filled = true};
    return true;
}

void perf_memory_free(perf_memory *memory)
{
    if (memory->bytes != NULL && !memory->shared)
        munmap(memory->bytes, memory->size);
    free(memory->queue);
    *memory = (perf_memory){.size = 0};
}

bool perf_memory_cut(perf_memory *memory, size_t slot_bytes)
{
    size_t fitting = memory->size / slot_bytes;
    size_t slots = fitting < PERF_SLOTS_MAX ? fitting : PERF_SLOTS_MAX;
    uint32_t *queue = NULL;
    if (slots == 0)
        return false;
    if (!memory->shared) { /* a sender has no use for it */
        queue = realloc(memory->queue, slots * sizeof *queue);
        if (queue == NULL)
            return false;
        memory->queue = queue;
    }
    memory->slot_bytes = slot_bytes;
    memory->slots = slots;
    memory->fresh = 0;
    memory->first = 0;
    memory->free = 0;
    return true;
}

const uint8_t *perf_memory_buffer(const perf_memory *memory, uint64_t index)
{
    return memory->bytes + index % memory->slots * memory->slot_bytes;
}

uint8_t *perf_memory_take(perf_memory *memory)
{
    uint32_t slot;
    if (memory->fresh < memory->slots)
        return memory->bytes + memory->fresh++ * memory->slot_bytes;
    if (memory->free == 0)
        return NULL;
    slot = memory->queue[memory->first];
    memory->first = (memory->first + 1) % memory->slots;
    memory->free--;
    return memory->bytes + slot * memory->slot_bytes;
}

void perf_memory_give_back(perf_memory *memory, const uint8_t *buffer)
{
    size_t slot = (size_t)(buffer - memory->bytes) / memory->slot_bytes;
    memory->queue[(memory->first + memory->free) % memory->slots] = (uint32_t)slot;
    memory->free++;
}
