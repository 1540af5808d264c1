/* SPDX-License-Identifier: BSD-2-Clause */
/* A tree_store as what a sink writes to: one part of a tree transfer. See sink_target.h. */
#include <errno.h>
#include <stdlib.h>

#include "cli/store/sink_target.h"

/* What the store's failures are as errno values: the text of the failure has more. */
#define TREE_FAILED EIO

typedef struct tree_target {
    tree_store *store;
    netblt_failure failure;
} tree_target;

static void begin(void *target)
{
    (void)target;
}

static int write_buffer(void *target, uint64_t offset, const uint8_t *bytes, uint32_t length)
{
    tree_target *to = target;
    return tree_store_write(to->store, offset, bytes, length, &to->failure) == 0 ? 0 : TREE_FAILED;
}

static int finish(void *target, uint64_t size, const atomic_bool *abandoned, bool *stored)
{
    tree_target *to = target;
    enum tree_state state;
    (void)abandoned;
    if (tree_store_end(to->store, size, &to->failure) != 0)
        return TREE_FAILED;
    state = tree_store_state(to->store);
    *stored = state == TREE_DONE || state == TREE_PART_DONE;
    return 0;
}

static void stop(void *target)
{
    tree_target *to = target;
    tree_store_stop(to->store);
}

static void abandon(void *target)
{
    tree_target *to = target;
    tree_store_cancel(to->store);
}

static const char *explain(const void *target)
{
    const tree_target *to = target;
    return to->failure.text;
}

static int directory(const void *target)
{
    const tree_target *to = target;
    return tree_store_directory(to->store);
}

static bool is_stored(const void *target)
{
    const tree_target *to = target;
    return tree_store_state(to->store) == TREE_DONE;
}

sink_target sink_target_tree(tree_store *store)
{
    static const sink_target_kind kind = {
        .takes_any_order = true,
        .begin = begin,
        .write = write_buffer,
        .finish = finish,
        .stop = stop,
        .abandon = abandon,
        .explain = explain,
        .directory = directory,
        .is_stored = is_stored,
        .close = free,
    };
    tree_target *to = calloc(1, sizeof *to);
    if (to != NULL)
        to->store = store;
    return (sink_target){&kind, to};
}
