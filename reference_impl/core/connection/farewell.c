/* SPDX-License-Identifier: BSD-2-Clause */
#include "connection/farewell.h"

#include "base/allocator.h"

#include <string.h>

/* A host that scans our ports gets an answer for each of its first packets and then one in 50 ms: enough for every
 * honest peer, too little to be of use as a reflector. */
#define ANSWERS_AT_ONCE 16
#define ANSWER_INTERVAL_US 50000

void nb_farewells_init(struct nb_farewells *farewells, const netblt_allocator *allocator)
{
    *farewells = (struct nb_farewells){.allocator = allocator, .answers_left = ANSWERS_AT_ONCE};
}

void nb_farewells_free(struct nb_farewells *farewells)
{
    struct nb_farewell *farewell;
    while ((farewell = nb_farewell_queue_take(&farewells->queue)) != NULL)
        nb_release(farewells->allocator, farewell);
}

size_t nb_farewell_say(struct nb_farewells *farewells, const netblt_path *path, const struct nb_emitter *emitter,
                       enum nb_type type, const char *reason)
{
    struct nb_farewell *farewell = nb_allocate(farewells->allocator, sizeof *farewell);
    if (farewell == NULL)
        return 0;
    *farewell = (struct nb_farewell){.path = *path};
    farewell->length = reason == NULL ? nb_write_bare(farewell->packet, emitter, type)
                                      : nb_write_reason(farewell->packet, emitter, type, reason);
    nb_farewell_queue_append(&farewells->queue, farewell);
    return farewell->length;
}

static void earn_answers(struct nb_farewells *farewells, netblt_time now)
{
    netblt_time earned = (now - farewells->answers_counted_at) / ANSWER_INTERVAL_US;
    if (farewells->answers_left + earned >= ANSWERS_AT_ONCE) {
        farewells->answers_left = ANSWERS_AT_ONCE;
        farewells->answers_counted_at = now;
    } else {
        farewells->answers_left += (unsigned)earned;
        farewells->answers_counted_at += earned * ANSWER_INTERVAL_US;
    }
}

bool nb_farewell_allowance(struct nb_farewells *farewells, netblt_time now)
{
    earn_answers(farewells, now);
    if (farewells->answers_left == 0)
        return false;
    farewells->answers_left--;
    return true;
}

size_t nb_farewell_answer(struct nb_farewells *farewells, const netblt_path *path, const struct nb_emitter *emitter,
                          enum nb_type type, const char *reason, netblt_time now)
{
    if (!nb_farewell_allowance(farewells, now))
        return 0;
    return nb_farewell_say(farewells, path, emitter, type, reason);
}

size_t nb_farewell_write(struct nb_farewells *farewells, uint8_t *packet, size_t capacity, netblt_output *output)
{
    struct nb_farewell *farewell = nb_farewell_queue_first(&farewells->queue);
    *output = (netblt_output){0};
    for (; farewell != NULL && farewell->length > capacity; farewell = nb_farewell_queue_next(farewell))
        if (output->needed == 0 || farewell->length < output->needed)
            output->needed = farewell->length;
    if (farewell == NULL)
        return 0;
    size_t length = farewell->length;
    memcpy(packet, farewell->packet, length);
    *output = (netblt_output){.path = farewell->path, .segment_bytes = length, .count = 1, .length = length};
    nb_farewell_queue_remove(farewell);
    nb_release(farewells->allocator, farewell);
    return length;
}
