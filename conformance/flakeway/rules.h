/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The ordered list of rules: which one decides about a packet. */
#ifndef FLAKEWAY_RULES_H
#define FLAKEWAY_RULES_H

#include "flakeway.h"
#include "random.h"
#include "statement.h"

typedef struct fw_rule {
    int id;
    fw_rule_spec spec;
    char text[FLAKEWAY_RULE_TEXT_BYTES];
    uint64_t hits;
    /* Each direction for itself, so that one direction's packets never change the other's fate: */
    uint64_t met[FLAKEWAY_DIRECTIONS]; /* packets that met the condition */
    unsigned held[FLAKEWAY_DIRECTIONS];
    fw_random random[FLAKEWAY_DIRECTIONS];
} fw_rule;

typedef struct fw_rules {
    fw_rule **list;
    size_t count;
    size_t capacity;
    int last_id;
    flakeway_hook_fn *hook;
    void *hook_context;
} fw_rules;

/* NULL when memory is short. */
fw_rule *fw_rules_add(fw_rules *rules, const fw_rule_spec *spec, const char *text, uint64_t seed);
fw_rule *fw_rules_find(const fw_rules *rules, int id);
void fw_rules_remove(fw_rules *rules, int id);
void fw_rules_clear(fw_rules *rules);
void fw_rules_free(fw_rules *rules);

/* The first rule that takes this packet, with the action it takes; NULL = none. Every rule counts every packet that
 * meets its condition, even one that an earlier rule takes: "the 2nd OK" is the 2nd OK that the flakeway sees. */
fw_rule *fw_rules_decide(fw_rules *rules, enum flakeway_direction direction, const uint8_t *netblt, size_t length,
                         uint64_t now_us, flakeway_action *action);

#endif
