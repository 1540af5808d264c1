/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The ordered list of rules: which one decides about a packet. */
#include "rules.h"

#include <stdio.h>
#include <stdlib.h>

/* Streams 0 and 1 of the seed belong to the directions; a rule's two follow from its ID. */
static uint64_t rule_stream(int id, unsigned direction)
{
    return (uint64_t)id * FLAKEWAY_DIRECTIONS + direction;
}

fw_rule *fw_rules_add(fw_rules *rules, const fw_rule_spec *spec, const char *text, uint64_t seed)
{
    if (rules->count == rules->capacity) {
        size_t capacity = rules->capacity ? rules->capacity * 2 : 8;
        fw_rule **list = realloc(rules->list, capacity * sizeof *list);
        if (!list)
            return NULL;
        rules->list = list;
        rules->capacity = capacity;
    }
    fw_rule *rule = calloc(1, sizeof *rule);
    if (!rule)
        return NULL;
    rule->id = ++rules->last_id;
    rule->spec = *spec;
    snprintf(rule->text, sizeof rule->text, "%s", text);
    for (unsigned direction = 0; direction < FLAKEWAY_DIRECTIONS; direction++)
        fw_random_seed(&rule->random[direction], seed, rule_stream(rule->id, direction));
    rules->list[rules->count++] = rule;
    return rule;
}

fw_rule *fw_rules_find(const fw_rules *rules, int id)
{
    for (size_t i = 0; i < rules->count; i++)
        if (rules->list[i]->id == id)
            return rules->list[i];
    return NULL;
}

void fw_rules_remove(fw_rules *rules, int id)
{
    size_t kept = 0;
    for (size_t i = 0; i < rules->count; i++)
        if (rules->list[i]->id == id)
            free(rules->list[i]);
        else
            rules->list[kept++] = rules->list[i];
    rules->count = kept;
}

void fw_rules_clear(fw_rules *rules)
{
    for (size_t i = 0; i < rules->count; i++)
        free(rules->list[i]);
    rules->count = 0;
}

void fw_rules_free(fw_rules *rules)
{
    fw_rules_clear(rules);
    free(rules->list);
    *rules = (fw_rules){0};
}

/* Counts the packet and returns whether it is one of those that the rule was written for. */
static bool is_chosen(fw_rule *rule, enum flakeway_direction direction)
{
    const fw_rule_spec *spec = &rule->spec;
    uint64_t number = ++rule->met[direction];
    if (spec->chance_ppb < FW_PPB_ALWAYS && !fw_chance(fw_random_next(&rule->random[direction]), spec->chance_ppb))
        return false;
    if (spec->nth.set && (number < spec->nth.first || number > spec->nth.last))
        return false;
    return spec->every == 0 || number % spec->every == 0;
}

/* A rule that holds a packet takes no other: the next ones are those that shall pass it. */
static bool is_busy(const fw_rule *rule, enum flakeway_direction direction)
{
    return rule->held[direction] > 0;
}

fw_rule *fw_rules_decide(fw_rules *rules, enum flakeway_direction direction, const uint8_t *netblt, size_t length,
                         uint64_t now_us, flakeway_action *action)
{
    fw_rule *decided = NULL;
    for (size_t i = 0; i < rules->count; i++) {
        fw_rule *rule = rules->list[i];
        if (!(rule->spec.condition.directions & 1u << direction) ||
            !fw_condition_met(&rule->spec.condition, netblt, length))
            continue;
        if (!is_chosen(rule, direction) || decided || is_busy(rule, direction))
            continue;
        *action = rule->spec.action;
        if (action->kind == FLAKEWAY_HOOK) {
            *action = (flakeway_action){0};
            if (!rules->hook ||
                !rules->hook(rules->hook_context, (uint32_t)rule->id, direction, netblt, length, now_us, action))
                continue;
        }
        decided = rule;
        rule->hits++;
    }
    return decided;
}
