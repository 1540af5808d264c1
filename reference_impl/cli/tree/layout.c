/* SPDX-License-Identifier: BSD-2-Clause */
/* Where the bytes of a tree transfer's content belong: see layout.h. */
#include "cli/tree/layout.h"

#include <stdlib.h>

#include "cli/tree/grow.h"

/* A piece with its hash. */
#define STRIDE (PIECE_BYTES + PIECE_HASH_BYTES)

/* Pieces of one file that follow one another in the content, or its file sum. */
typedef struct segment {
    uint64_t offset; /* in the content */
    uint64_t piece;  /* the first */
    uint64_t pieces; /* 0: the file sum */
    uint32_t entry;
} segment;

struct layout {
    const manifest *all;
    segment *segments; /* ascending */
    size_t count;
    size_t capacity;
    uint64_t bytes;
    uint64_t file_bytes;
};

static bool add(layout *plan, uint32_t entry, uint64_t piece, uint64_t pieces)
{
    uint64_t size = plan->all->entries[entry].size;
    uint64_t bytes = PIECE_HASH_BYTES;
    segment *segments = grow(plan->segments, plan->count, &plan->capacity, sizeof *segments);
    if (segments == NULL)
        return false;
    plan->segments = segments;
    plan->segments[plan->count++] = (segment){plan->bytes, piece, pieces, entry};
    if (pieces != 0) {
        uint64_t end = (piece + pieces) * PIECE_BYTES;
        uint64_t of_file = (end < size ? end : size) - piece * PIECE_BYTES;
        bytes = of_file + pieces * PIECE_HASH_BYTES;
        plan->file_bytes += of_file;
    }
    plan->bytes += bytes;
    return true;
}

/* What of a file is not sent: holes and held subtrees, taken in ascending order. */
typedef struct absent {
    const manifest_entry *file;
    const held_entry *held; /* NULL: nothing of it */
    uint32_t hole;
    uint32_t subtree;
} absent;

/* The next run of pieces that are not sent. False: no more. */
static bool next_absent(absent *from, hole *next)
{
    bool has_hole = from->hole < from->file->hole_count;
    bool has_subtree = from->held != NULL && from->subtree < from->held->subtree_count;
    if (has_subtree) {
        const subtree *known = &from->held->subtrees[from->subtree];
        *next = (hole){known->index << known->level, UINT64_C(1) << known->level};
    }
    if (has_hole && (!has_subtree || from->file->holes[from->hole].first < next->first)) {
        *next = from->file->holes[from->hole++];
        return true;
    }
    from->subtree += has_subtree;
    return has_subtree;
}

static bool add_file(layout *plan, uint32_t entry, const held_entry *held)
{
    const manifest_entry *file = &plan->all->entries[entry];
    absent without = {.file = file, .held = held};
    uint64_t pieces = manifest_pieces(file->size);
    uint64_t piece = 0;
    hole next;
    while (next_absent(&without, &next)) {
        if (next.first > piece && !add(plan, entry, piece, next.first - piece))
            return false;
        if (next.first + next.count > piece) /* a held subtree may have a hole in it */
            piece = next.first + next.count;
    }
    if (piece < pieces && !add(plan, entry, piece, pieces - piece))
        return false;
    return add(plan, entry, 0, 0);
}

static bool add_all(layout *plan, const held_list *held)
{
    uint32_t next = 0; /* of the held list */
    for (uint32_t i = 0; i < plan->all->count; i++) {
        const held_entry *here = NULL;
        if (held != NULL && next < held->count && held->entries[next].entry == i)
            here = &held->entries[next++];
        if (plan->all->entries[i].size == 0 || (here != NULL && here->kind == HELD_COMPLETE))
            continue;
        if (here != NULL && here->kind == HELD_COMPARE ? !add(plan, i, 0, 0) : !add_file(plan, i, here))
            return false;
    }
    return true;
}

layout *layout_new(const manifest *all, const held_list *held)
{
    layout *plan = calloc(1, sizeof *plan);
    if (plan == NULL)
        return NULL;
    plan->all = all;
    if (add_all(plan, held))
        return plan;
    layout_free(plan);
    return NULL;
}

void layout_free(layout *plan)
{
    if (plan == NULL)
        return;
    free(plan->segments);
    free(plan);
}

uint64_t layout_bytes(const layout *plan)
{
    return plan->bytes;
}

uint64_t layout_file_bytes(const layout *plan)
{
    return plan->file_bytes;
}

static const segment *find(const layout *plan, uint64_t offset)
{
    size_t low = 0;
    size_t high = plan->count;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (plan->segments[middle].offset <= offset)
            low = middle;
        else
            high = middle;
    }
    return &plan->segments[low];
}

layout_run layout_at(const layout *plan, uint64_t offset)
{
    const segment *here = find(plan, offset);
    uint64_t size = plan->all->entries[here->entry].size;
    uint64_t in = offset - here->offset;
    layout_run run = {.kind = LAYOUT_FILE_SUM, .entry = here->entry};
    uint64_t start;
    uint64_t bytes;
    if (here->pieces == 0) {
        run.skip = (uint32_t)in;
        run.length = PIECE_HASH_BYTES - run.skip;
        return run;
    }
    run.piece = here->piece + in / STRIDE;
    in %= STRIDE;
    start = run.piece * PIECE_BYTES;
    bytes = size - start < PIECE_BYTES ? size - start : PIECE_BYTES;
    run.kind = in < bytes ? LAYOUT_BYTES : LAYOUT_PIECE_HASH;
    run.skip = (uint32_t)(in < bytes ? in : in - bytes);
    run.file_offset = in < bytes ? start + in : 0;
    run.length = (uint32_t)(in < bytes ? bytes - in : PIECE_HASH_BYTES - run.skip);
    return run;
}
