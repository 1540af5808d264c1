/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What happens to packets: in, through the link, rules and rates, and out. */
#include "engine_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Streams of the seed: 0 and 1 are the rates', rules have theirs by number. */
#define PATH_STREAM UINT64_C(0x70617468)

/* One packet's draws. All are drawn for every packet, used or not: a rate that is set or cleared, or a rule, changes
 * no later packet's luck. */
typedef struct luck {
    uint64_t loss;
    uint64_t duplicate;
    uint64_t reorder;
    uint64_t corrupt;
    uint64_t place; /* of a corruption */
    uint64_t jitter;
    fw_fate fate; /* of a stream of its own */
} luck;

static luck draw_luck(fw_way *w, size_t bytes)
{
    fw_random *random = &w->random;
    luck drawn;
    drawn.loss = fw_random_next(random);
    drawn.duplicate = fw_random_next(random);
    drawn.reorder = fw_random_next(random);
    drawn.corrupt = fw_random_next(random);
    drawn.place = fw_random_next(random);
    drawn.jitter = fw_random_next(random);
    drawn.fate = fw_path_draw(&w->path, bytes, w->loss.ppb);
    return drawn;
}

/* ---- life ------------------------------------------------------------------------------------------------- */

flakeway *flakeway_new(uint64_t seed)
{
    flakeway *engine = calloc(1, sizeof *engine);
    if (!engine)
        return NULL;
    engine->seed = seed;
    for (unsigned direction = 0; direction < FLAKEWAY_DIRECTIONS; direction++) {
        fw_random_seed(&engine->ways[direction].random, seed, direction);
        fw_random_seed(&engine->ways[direction].path.random, seed, PATH_STREAM + direction);
        fw_way_reset(&engine->ways[direction]);
    }
    return engine;
}

void flakeway_free(flakeway *engine)
{
    if (!engine)
        return;
    while (engine->on_their_way.count)
        free(fw_heap_pop(&engine->on_their_way).item);
    fw_heap_free(&engine->on_their_way);
    for (unsigned direction = 0; direction < FLAKEWAY_DIRECTIONS; direction++) {
        while (engine->ways[direction].held) {
            fw_node *next = engine->ways[direction].held->next_held;
            free(engine->ways[direction].held);
            engine->ways[direction].held = next;
        }
        fw_link_free(&engine->ways[direction].link);
    }
    fw_rules_free(&engine->rules);
    free(engine->lent);
    free(engine);
}

uint64_t flakeway_seed(const flakeway *engine)
{
    return engine->seed;
}

/* ---- decisions reported --------------------------------------------------------------------------------------- */

static void tell(const flakeway *engine, uint64_t id, enum flakeway_direction direction, uint64_t now_us,
                 enum flakeway_action_kind action, const fw_rule *rule, const char *text)
{
    if (engine->trace) {
        flakeway_event event = {.id = id,
                                .now_us = now_us,
                                .direction = direction,
                                .action = action,
                                .rule = rule ? (uint32_t)rule->id : 0,
                                .text = rule ? rule->text : text};
        engine->trace(engine->trace_context, &event);
    }
}

void flakeway_describe(const flakeway_event *event, char *out, size_t capacity)
{
    static const char *const participles[] = {"passed", "dropped",   "delayed",   "duplicated",
                                              "held",   "corrupted", "truncated", "passed"};
    if (event->rule)
        snprintf(out, capacity, "%s by rule %u (%s)", participles[event->action], event->rule, event->text);
    else
        snprintf(out, capacity, "%s by %s", participles[event->action], event->text);
}

/* ---- packets inside --------------------------------------------------------------------------------------- */

static fw_node *node_new(const flakeway_packet *packet)
{
    fw_node *n = malloc(sizeof *n + packet->length);
    if (!n)
        return NULL;
    *n = (fw_node){.packet = *packet};
    memcpy(n->bytes, packet->bytes, packet->length);
    n->packet.bytes = n->bytes;
    return n;
}

static fw_node *node_copy(const fw_node *original, uint32_t copy)
{
    fw_node *n = node_new(&original->packet);
    if (n) {
        n->id = original->id;
        n->offered_us = original->offered_us;
        n->base_us = original->base_us;
        n->direction = original->direction;
        n->changed = original->changed;
        n->copy = copy;
    }
    return n;
}

/* Sends the packet on its way. false = memory is short: it is dropped. */
static bool schedule(flakeway *engine, fw_node *n, uint64_t release_us)
{
    if (fw_heap_push(&engine->on_their_way, release_us, n))
        return true;
    engine->ways[n->direction].stats.dropped_by_queue++;
    tell(engine, n->id, n->direction, n->offered_us, FLAKEWAY_DROP, NULL, "shortage of memory");
    free(n);
    return false;
}

static void hold(flakeway *engine, fw_node *n, fw_rule *rule, uint32_t packets)
{
    fw_way *w = &engine->ways[n->direction];
    fw_node **end = &w->held;
    while (*end)
        end = &(*end)->next_held;
    *end = n;
    n->holder = rule->id;
    n->to_pass = packets;
    rule->held[n->direction]++;
    engine->held++;
}

/* Takes one held packet out of the list and sends it on its way, not before `earliest_us`. */
static void let_go(flakeway *engine, fw_node **link, uint64_t earliest_us)
{
    fw_node *n = *link;
    fw_rule *rule = fw_rules_find(&engine->rules, n->holder);
    *link = n->next_held;
    n->next_held = NULL;
    engine->held--;
    if (rule)
        rule->held[n->direction]--;
    schedule(engine, n, n->base_us > earliest_us ? n->base_us : earliest_us);
}

/* A packet passes at release_us: those which waited for it follow at once. false as schedule(). */
static bool packet_passes(flakeway *engine, fw_node *n, uint64_t release_us)
{
    fw_way *w = &engine->ways[n->direction];
    if (!schedule(engine, n, release_us))
        return false;
    for (fw_node **link = &w->held; *link;)
        if (--(*link)->to_pass == 0)
            let_go(engine, link, release_us);
        else
            link = &(*link)->next_held;
    return true;
}

void fw_release_held_by(flakeway *engine, int rule, uint64_t now_us)
{
    for (unsigned direction = 0; direction < FLAKEWAY_DIRECTIONS; direction++) {
        for (fw_node **link = &engine->ways[direction].held; *link;)
            if (rule == 0 || (*link)->holder == rule)
                let_go(engine, link, now_us);
            else
                link = &(*link)->next_held;
    }
}

/* ---- changing packets ------------------------------------------------------------------------------------- */

static void flip_bit(fw_node *n, size_t bit)
{
    n->bytes[n->packet.netblt_offset + bit / 8] ^= (uint8_t)(0x80u >> bit % 8);
    n->changed = true;
}

/* false when the packet is too short to have the bit or the bytes. */
static bool corrupt(fw_node *n, const flakeway_action *action, uint64_t place)
{
    uint64_t bits = (uint64_t)n->packet.netblt_length * 8;
    if (action->corrupt_one_bit) {
        if (action->corrupt_first >= bits)
            return false;
        flip_bit(n, action->corrupt_first);
        return true;
    }
    uint64_t first = (uint64_t)action->corrupt_first * 8;
    uint64_t end = ((uint64_t)action->corrupt_last + 1) * 8;
    end = end < bits ? end : bits;
    if (first >= end)
        return false;
    flip_bit(n, (size_t)(first + fw_below(place, end - first)));
    return true;
}

/* false when the packet is that short already. What came after the NETBLT packet goes too. */
static bool truncate_to(fw_node *n, size_t bytes)
{
    if (bytes >= n->packet.netblt_length)
        return false;
    n->packet.netblt_length = bytes;
    n->packet.length = n->packet.netblt_offset + bytes;
    n->changed = true;
    return true;
}

/* ---- fates ------------------------------------------------------------------------------------------------ */

static void duplicate(flakeway *engine, const fw_node *original, uint32_t copies, uint64_t gap_us, uint64_t release_us)
{
    for (uint32_t i = 1; i <= copies; i++) {
        fw_node *copy = node_copy(original, i);
        if (!copy)
            return;
        engine->ways[original->direction].stats.duplicated++;
        schedule(engine, copy, release_us + i * gap_us);
    }
}

static void apply_rule(flakeway *engine, fw_node *n, fw_rule *rule, const flakeway_action *action, uint64_t now_us)
{
    fw_way *w = &engine->ways[n->direction];
    enum flakeway_action_kind done = action->kind;
    if ((done == FLAKEWAY_CORRUPT && !corrupt(n, action, fw_random_next(&rule->random[n->direction]))) ||
        (done == FLAKEWAY_TRUNCATE && !truncate_to(n, action->truncate_bytes)))
        done = FLAKEWAY_PASS;
    tell(engine, n->id, n->direction, now_us, done, rule, NULL);
    switch (done) {
    case FLAKEWAY_DROP:
        w->stats.dropped_by_rule++;
        free(n);
        return;
    case FLAKEWAY_HOLD:
        w->stats.reordered++;
        hold(engine, n, rule, action->hold_packets);
        return;
    case FLAKEWAY_DELAY:
        w->stats.delayed++;
        packet_passes(engine, n, n->base_us + action->delay_us);
        return;
    case FLAKEWAY_CORRUPT:
        w->stats.corrupted++;
        break;
    case FLAKEWAY_TRUNCATE:
        w->stats.truncated++;
        break;
    case FLAKEWAY_DUPLICATE:
    case FLAKEWAY_PASS:
    case FLAKEWAY_HOOK:
        break;
    }
    if (packet_passes(engine, n, n->base_us) && done == FLAKEWAY_DUPLICATE)
        duplicate(engine, n, action->copies, action->gap_us, n->base_us);
}

/* A packet is lost with any of its fragments. NULL = nothing loses it. */
static const char *what_loses(const fw_way *w, const luck *drawn)
{
    if (fw_chance(drawn->loss, w->loss.ppb) || drawn->fate.fragment_lost)
        return w->loss.text;
    return drawn->fate.lost_in_bad_times ? w->gilbert_text : NULL;
}

static void apply_rates(flakeway *engine, fw_node *n, const luck *drawn, uint64_t now_us)
{
    fw_way *w = &engine->ways[n->direction];
    uint64_t release_us = n->base_us;
    const char *loss = what_loses(w, drawn);
    if (loss) {
        w->stats.dropped_by_loss++;
        tell(engine, n->id, n->direction, now_us, FLAKEWAY_DROP, NULL, loss);
        free(n);
        return;
    }
    if (fw_chance(drawn->corrupt, w->corrupt.ppb)) {
        const flakeway_action anywhere = {.kind = FLAKEWAY_CORRUPT, .corrupt_last = UINT32_MAX};
        if (corrupt(n, &anywhere, drawn->place)) {
            w->stats.corrupted++;
            tell(engine, n->id, n->direction, now_us, FLAKEWAY_CORRUPT, NULL, w->corrupt.text);
        }
    }
    if (fw_chance(drawn->reorder, w->reorder.ppb)) {
        w->stats.reordered++;
        release_us += w->reorder.time_us;
        tell(engine, n->id, n->direction, now_us, FLAKEWAY_DELAY, NULL, w->reorder.text);
    }
    if (packet_passes(engine, n, release_us) && fw_chance(drawn->duplicate, w->duplicate.ppb)) {
        tell(engine, n->id, n->direction, now_us, FLAKEWAY_DUPLICATE, NULL, w->duplicate.text);
        duplicate(engine, n, 1, w->duplicate.time_us, release_us);
    }
}

/* Latency and jitter after the line's end. Jitter stretches and squeezes, it never reorders: that is a rate of its
 * own. */
static uint64_t arrival(fw_way *w, uint64_t exit_us, uint64_t jitter_draw)
{
    uint64_t base_us = exit_us + w->latency_us;
    if (w->jitter_us) {
        base_us += fw_below(jitter_draw, w->jitter_us + 1);
        base_us = base_us > w->last_base_us ? base_us : w->last_base_us;
        w->last_base_us = base_us;
    }
    return base_us;
}

static void give_back(flakeway *engine)
{
    free(engine->lent);
    engine->lent = NULL;
}

uint64_t flakeway_offer(flakeway *engine, enum flakeway_direction direction, const flakeway_packet *packet,
                        uint64_t now_us)
{
    fw_way *w = &engine->ways[direction];
    uint64_t id = ++engine->last_id;
    size_t line_bytes = packet->link_bytes ? packet->link_bytes : packet->length;
    const luck drawn = draw_luck(w, line_bytes);
    uint64_t exit_us;
    give_back(engine);
    w->stats.seen++;
    bool admitted = fw_path_admit(&w->path, &w->link, line_bytes, now_us, &exit_us);
    fw_node *n = admitted ? node_new(packet) : NULL;
    if (!n) {
        w->stats.dropped_by_queue++;
        tell(engine, id, direction, now_us, FLAKEWAY_DROP, NULL, admitted ? "shortage of memory" : w->queue_text);
        return id;
    }
    n->id = id;
    n->offered_us = now_us;
    n->direction = direction;
    n->base_us = arrival(w, exit_us, drawn.jitter) + drawn.fate.delay_us;
    if (drawn.fate.late) {
        w->stats.delayed++;
        tell(engine, id, direction, now_us, FLAKEWAY_DELAY, NULL, w->mtu_text);
    }
    flakeway_action action = {0};
    fw_rule *rule = NULL;
    if (n->packet.netblt_length)
        rule = fw_rules_decide(&engine->rules, direction, n->bytes + n->packet.netblt_offset, n->packet.netblt_length,
                               now_us, &action);
    if (rule)
        apply_rule(engine, n, rule, &action, now_us);
    else
        apply_rates(engine, n, &drawn, now_us);
    return id;
}

/* ---- out -------------------------------------------------------------------------------------------------- */

bool flakeway_release(flakeway *engine, uint64_t now_us, flakeway_released *released)
{
    give_back(engine);
    const fw_heap_entry *first = fw_heap_first(&engine->on_their_way);
    if (!first || first->release_us > now_us)
        return false;
    fw_heap_entry entry = fw_heap_pop(&engine->on_their_way);
    fw_node *n = entry.item;
    *released = (flakeway_released){.id = n->id,
                                    .copy = n->copy,
                                    .direction = n->direction,
                                    .changed = n->changed,
                                    .offered_us = n->offered_us,
                                    .release_us = entry.release_us,
                                    .packet = n->packet};
    engine->ways[n->direction].stats.delivered++;
    engine->lent = n;
    return true;
}

uint64_t flakeway_deadline(const flakeway *engine)
{
    const fw_heap_entry *first = fw_heap_first(&engine->on_their_way);
    return first ? first->release_us : FLAKEWAY_NEVER;
}

size_t flakeway_queued(const flakeway *engine)
{
    return engine->on_their_way.count + engine->held;
}

const flakeway_stats *flakeway_get_stats(const flakeway *engine, enum flakeway_direction direction)
{
    return &engine->ways[direction].stats;
}
