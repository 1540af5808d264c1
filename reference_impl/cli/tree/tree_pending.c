/* SPDX-License-Identifier: BSD-2-Clause */
/* Pieces and sums that come in several buffers: see tree_pending.h. */
#include "cli/tree/tree_pending.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static size_t total(const pending_unit *unit)
{
    return unit->length + PIECE_HASH_BYTES;
}

static bool is_of(const pending_unit *unit, const layout_run *run)
{
    return unit->entry == run->entry && unit->is_sum == (run->kind == LAYOUT_FILE_SUM) && unit->piece == run->piece;
}

/* The place of the unit in the list; *place is NULL when there is none. */
static pending_unit **find(tree_pending *pending, const layout_run *run)
{
    pending_unit **place = &pending->first;
    while (*place != NULL && !is_of(*place, run))
        place = &(*place)->next;
    return place;
}

int tree_pending_take(tree_pending *pending, const layout_run *run, size_t piece_bytes, const uint8_t *bytes,
                      size_t length, pending_unit **whole)
{
    pending_unit **place = find(pending, run);
    pending_unit *unit = *place;
    size_t at = run->skip;
    *whole = NULL;
    if (unit == NULL) {
        size_t unit_bytes = run->kind == LAYOUT_FILE_SUM ? 0 : piece_bytes;
        if (pending->bytes > PENDING_MOST_BYTES)
            return EOVERFLOW;
        unit = malloc(sizeof *unit + unit_bytes + PIECE_HASH_BYTES);
        if (unit == NULL)
            return ENOMEM;
        *unit = (pending_unit){.next = pending->first,
                               .entry = run->entry,
                               .is_sum = run->kind == LAYOUT_FILE_SUM,
                               .piece = run->piece,
                               .length = unit_bytes};
        pending->first = unit;
        pending->bytes += total(unit);
        place = &pending->first;
    }
    if (run->kind == LAYOUT_PIECE_HASH)
        at += unit->length;
    memcpy(unit->bytes + at, bytes, length);
    unit->received += length;
    if (unit->received < total(unit))
        return 0;
    *place = unit->next;
    pending->bytes -= total(unit);
    *whole = unit;
    return 0;
}

void tree_pending_clear(tree_pending *pending)
{
    while (pending->first != NULL) {
        pending_unit *next = pending->first->next;
        free(pending->first);
        pending->first = next;
    }
    pending->bytes = 0;
}
