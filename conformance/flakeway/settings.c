/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is set: rules, rates, listeners and hooks. */
#include "engine_internal.h"

#include <stdio.h>
#include <string.h>

#include "parse.h"

#define BLANKS " \t\r\n\v\f"

static void set_rate(fw_rate *r, const fw_setting *setting, const char *text)
{
    r->ppb = setting->ppb;
    r->time_us = setting->time_us;
    snprintf(r->text, sizeof r->text, "%s", text);
}

static void set_path(fw_path *path, const fw_setting *setting)
{
    switch (setting->kind) {
    case FW_SET_MTU:
        path->mtu = setting->bytes;
        path->late_us = setting->time_us;
        path->late_ppb = setting->ppb;
        break;
    case FW_SET_SPREAD:
        path->spread_us = setting->time_us;
        path->spread_kind = setting->spread;
        break;
    default:
        path->to_bad_ppb = setting->ppb;
        path->to_good_ppb = setting->to_good_ppb;
        path->bad_loss_ppb = setting->bad_loss_ppb;
        path->good_loss_ppb = setting->good_loss_ppb;
        break;
    }
}

static void set_one_way(fw_way *w, const fw_setting *setting, const char *text)
{
    switch (setting->kind) {
    case FW_SET_LOSS:
        set_rate(&w->loss, setting, text);
        break;
    case FW_SET_DUPLICATE:
        set_rate(&w->duplicate, setting, text);
        break;
    case FW_SET_REORDER:
        set_rate(&w->reorder, setting, text);
        break;
    case FW_SET_CORRUPT:
        set_rate(&w->corrupt, setting, text);
        break;
    case FW_SET_LATENCY:
        w->latency_us = setting->time_us;
        break;
    case FW_SET_JITTER:
        w->jitter_us = setting->time_us;
        break;
    case FW_SET_RATE:
        w->link.bits_per_s = setting->bits_per_s;
        break;
    case FW_SET_QUEUE:
        w->link.queue_packets = setting->queue_packets;
        w->link.queue_bytes = setting->queue_bytes;
        w->link.queue_time_us = setting->queue_time_us;
        w->link.queue_cells = setting->queue_cells;
        snprintf(w->queue_text, sizeof w->queue_text, "%s", text);
        break;
    case FW_SET_FRAMING:
        w->link.framing_bytes = setting->bytes;
        break;
    case FW_SET_CELLS:
        w->link.cell_payload_bytes = setting->bytes;
        w->link.cell_bytes = setting->cell_bytes;
        w->link.cells_from_bits_per_s = setting->bits_per_s;
        break;
    case FW_SET_FRAMES:
        w->link.frame_us = setting->time_us;
        w->link.frame_bits = setting->bits_per_s;
        break;
    case FW_SET_MTU:
        set_path(&w->path, setting);
        snprintf(w->mtu_text, sizeof w->mtu_text, "%s", text);
        break;
    case FW_SET_GILBERT:
        set_path(&w->path, setting);
        snprintf(w->gilbert_text, sizeof w->gilbert_text, "%s", text);
        break;
    case FW_SET_SPREAD:
        set_path(&w->path, setting);
        break;
    }
}

static void trim(const char *text, char *out, size_t capacity)
{
    text += strspn(text, BLANKS);
    size_t length = strlen(text);
    while (length && strchr(BLANKS, text[length - 1]))
        length--;
    snprintf(out, capacity, "%.*s", (int)length, text);
}

int flakeway_add(flakeway *engine, const char *text, flakeway_error *error)
{
    fw_statement statement;
    char trimmed[FLAKEWAY_RULE_TEXT_BYTES];
    if (!fw_parse(text, &statement, error))
        return -1;
    trim(text, trimmed, sizeof trimmed);
    if (!statement.is_setting) {
        const fw_rule *rule = fw_rules_add(&engine->rules, &statement.rule, trimmed, engine->seed);
        if (!rule && error)
            *error = (flakeway_error){.column = 1, .message = "no memory for another rule"};
        return rule ? rule->id : -1;
    }
    for (unsigned direction = 0; direction < FLAKEWAY_DIRECTIONS; direction++)
        if (statement.setting.directions & 1u << direction)
            set_one_way(&engine->ways[direction], &statement.setting, trimmed);
    return 0;
}

/* Parses, and with `add` obeys, every line. Returns 0, or the number of the first bad line. */
static int each_line(flakeway *engine, const char *text, bool add, flakeway_error *error)
{
    for (int number = 1; *text; number++) {
        char line[FLAKEWAY_RULE_TEXT_BYTES + 1]; /* a line that is cut here is still too long: the parser refuses it */
        fw_statement statement;
        snprintf(line, sizeof line, "%.*s", (int)strcspn(text, "#\n"), text);
        bool empty = line[strspn(line, BLANKS)] == '\0';
        if (!empty && (add ? flakeway_add(engine, line, error) < 0 : !fw_parse(line, &statement, error)))
            return number;
        text += strcspn(text, "\n");
        text += *text == '\n';
    }
    return 0;
}

int flakeway_add_lines(flakeway *engine, const char *text, flakeway_error *error)
{
    int bad = each_line(engine, text, false, error);
    return bad ? bad : each_line(engine, text, true, error);
}

bool flakeway_remove(flakeway *engine, int rule, uint64_t now_us)
{
    if (!fw_rules_find(&engine->rules, rule))
        return false;
    fw_release_held_by(engine, rule, now_us);
    fw_rules_remove(&engine->rules, rule);
    return true;
}

void flakeway_clear(flakeway *engine, uint64_t now_us)
{
    fw_release_held_by(engine, 0, now_us);
    fw_rules_clear(&engine->rules);
    for (unsigned direction = 0; direction < FLAKEWAY_DIRECTIONS; direction++)
        fw_way_reset(&engine->ways[direction]);
}

const char *flakeway_rule_text(const flakeway *engine, int rule)
{
    const fw_rule *found = fw_rules_find(&engine->rules, rule);
    return found ? found->text : NULL;
}

uint64_t flakeway_rule_hits(const flakeway *engine, int rule)
{
    const fw_rule *found = fw_rules_find(&engine->rules, rule);
    return found ? found->hits : 0;
}

void flakeway_set_trace(flakeway *engine, flakeway_trace_fn *trace, void *context)
{
    engine->trace = trace;
    engine->trace_context = context;
}

flakeway_trace_fn *flakeway_get_trace(const flakeway *engine, void **context)
{
    *context = engine->trace_context;
    return engine->trace;
}

void flakeway_set_hook(flakeway *engine, flakeway_hook_fn *hook, void *context)
{
    engine->rules.hook = hook;
    engine->rules.hook_context = context;
}
