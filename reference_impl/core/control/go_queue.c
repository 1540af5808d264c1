/* SPDX-License-Identifier: BSD-2-Clause */
/* The data sender's queue of GO messages: see go_queue.h. */
#include "control/go_queue.h"

#include "base/serial.h"

#include <assert.h>
#include <string.h>

static bool is_above_all(const struct nb_go_queue *queue, uint32_t buffer)
{
    return !queue->any || nb_buffer_below(queue->highest, buffer);
}

static bool follows_highest(const struct nb_go_queue *queue, uint32_t buffer)
{
    return queue->any && buffer == queue->highest + 1;
}

/* Held GOs never take the last place: the GO that they all wait for must find room. */
static bool has_room(const struct nb_go_queue *queue, bool ready)
{
    return queue->run_count + queue->held_count + (ready ? 0 : 1) < NB_GO_QUEUE_MAX;
}

/* The caller has made sure that there is room, or that the number extends the last run. */
static void make_ready(struct nb_go_queue *queue, uint32_t buffer)
{
    if (queue->run_count > 0 && follows_highest(queue, buffer)) {
        queue->runs[queue->run_count - 1].count++;
    } else {
        assert(queue->run_count < NB_GO_QUEUE_MAX);
        queue->runs[queue->run_count++] = (struct nb_go_run){buffer, 1};
    }
    if (queue->any)
        queue->span += nb_buffer_distance(buffer, queue->highest);
    queue->any = true;
    queue->highest = buffer;
}

static bool is_held(const struct nb_go_queue *queue, uint32_t buffer)
{
    for (size_t i = 0; i < queue->held_count; i++)
        if (queue->held[i].buffer == buffer)
            return true;
    return false;
}

bool nb_go_queue_add(struct nb_go_queue *queue, const struct nb_sequence *sequence, uint16_t seq, uint32_t buffer)
{
    if (!is_above_all(queue, buffer) || is_held(queue, buffer))
        return true;
    bool ready = nb_sequence_is_next(sequence, seq) || follows_highest(queue, buffer);
    bool extends = queue->run_count > 0 && follows_highest(queue, buffer);
    if (!extends && !has_room(queue, ready))
        return false;
    if (ready)
        make_ready(queue, buffer);
    else
        queue->held[queue->held_count++] = (struct nb_held_go){buffer, seq};
    return true;
}

static size_t lowest_held(const struct nb_go_queue *queue)
{
    size_t lowest = 0;
    for (size_t i = 1; i < queue->held_count; i++)
        if (nb_buffer_below(queue->held[i].buffer, queue->held[lowest].buffer))
            lowest = i;
    return lowest;
}

void nb_go_queue_update(struct nb_go_queue *queue, const struct nb_sequence *sequence)
{
    while (queue->held_count > 0) {
        size_t lowest = lowest_held(queue);
        struct nb_held_go held = queue->held[lowest];
        bool in_sequence = !nb_seq_after(held.seq, sequence->high);
        if (!in_sequence && !follows_highest(queue, held.buffer) && is_above_all(queue, held.buffer))
            return;
        queue->held[lowest] = queue->held[--queue->held_count];
        if (is_above_all(queue, held.buffer))
            make_ready(queue, held.buffer);
    }
}

bool nb_go_queue_has(const struct nb_go_queue *queue)
{
    return queue->run_count > 0;
}

uint32_t nb_go_queue_take(struct nb_go_queue *queue)
{
    assert(queue->run_count > 0);
    struct nb_go_run *front = &queue->runs[0];
    uint32_t number = front->first++;
    if (--front->count == 0)
        memmove(front, front + 1, --queue->run_count * sizeof *front);
    return number;
}

bool nb_go_queue_has_passed(const struct nb_go_queue *queue, uint32_t number)
{
    if (!queue->any || is_above_all(queue, number))
        return false;
    if (queue->run_count > 0 && !nb_buffer_below(number, queue->runs[0].first))
        return false;
    return queue->highest - number <= queue->span;
}
