/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parts of the flakeway engine that its own files share. */
#ifndef FLAKEWAY_ENGINE_INTERNAL_H
#define FLAKEWAY_ENGINE_INTERNAL_H

#include "flakeway.h"
#include "heap.h"
#include "rules.h"
#include "way.h"

struct flakeway {
    uint64_t seed;
    uint64_t last_id;
    fw_rules rules;
    fw_way ways[FLAKEWAY_DIRECTIONS];
    fw_heap on_their_way;
    size_t held;
    fw_node *lent; /* its bytes were handed out by the last flakeway_release() */
    flakeway_trace_fn *trace;
    void *trace_context;
};

/* Lets go what the rule holds, or with rule 0 everything that is held. */
void fw_release_held_by(flakeway *engine, int rule, uint64_t now_us);

#endif
