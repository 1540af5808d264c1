/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parser of rules and rates. */
#include "parse.h"

#include <stdio.h>
#include <string.h>

#include "parse_path.h"
#include "random.h"
#include "words.h"

#define BOTH_DIRECTIONS (1u << FLAKEWAY_A_TO_B | 1u << FLAKEWAY_B_TO_A)
#define REORDER_DEFAULT_US 5000 /* "reorder 1%" alone: several packets at common rates, less than a usual timer */
#define COPIES_MAX 1000
#define HOLD_MAX_PACKETS 100000

static const char *const packet_types[] = {"OPEN", "RESPONSE", "KEEPALIVE", "QUIT",    "QUITACK", "ABORT",
                                           "DATA", "LDATA",    "NULL-ACK",  "CONTROL", "REFUSED", "DONE"};
static const char *const message_types[] = {"GO", "OK", "RESEND"};

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* ---- actions ---------------------------------------------------------------------------------------------- */

static bool read_count(fw_words *words, uint32_t minimum, uint32_t maximum, uint32_t *number)
{
    fw_word word;
    fw_next_word(words, &word);
    return fw_read_number(words, word, minimum, maximum, number);
}

/* The action word and its argument. */
static bool parse_action_head(fw_words *words, flakeway_action *action)
{
    fw_word word;
    if (!fw_next_word(words, &word))
        return fw_fail(words, word,
                       "nothing here: a rule begins with pass, drop, delay, duplicate, swap, hold, corrupt, "
                       "truncate or hook");
    if (fw_word_is(word, "pass")) {
        action->kind = FLAKEWAY_PASS;
    } else if (fw_word_is(word, "drop")) {
        action->kind = FLAKEWAY_DROP;
    } else if (fw_word_is(word, "delay")) {
        action->kind = FLAKEWAY_DELAY;
        fw_next_word(words, &word);
        return fw_read_time(words, word, &action->delay_us);
    } else if (fw_word_is(word, "duplicate")) {
        action->kind = FLAKEWAY_DUPLICATE;
        action->copies = 1;
    } else if (fw_word_is(word, "swap")) {
        action->kind = FLAKEWAY_HOLD;
        action->hold_packets = 1;
    } else if (fw_word_is(word, "hold")) {
        action->kind = FLAKEWAY_HOLD;
        return read_count(words, 1, HOLD_MAX_PACKETS, &action->hold_packets);
    } else if (fw_word_is(word, "corrupt")) {
        action->kind = FLAKEWAY_CORRUPT;
        action->corrupt_last = UINT32_MAX;
    } else if (fw_word_is(word, "truncate")) {
        action->kind = FLAKEWAY_TRUNCATE;
        return read_count(words, 0, FLAKEWAY_PACKET_MAX_BYTES, &action->truncate_bytes);
    } else if (fw_word_is(word, "hook")) {
        action->kind = FLAKEWAY_HOOK;
    } else {
        return fw_fail(words, word,
                       "is no action or rate; known are pass, drop, delay, duplicate, swap, hold, corrupt, "
                       "truncate, hook; loss, reorder, latency, jitter, spread, gilbert, rate, frames, queue, framing, "
                       "cells, mtu");
    }
    return true;
}

/* "bit=", "byte=", "count=", "gap=": *known states whether the word is one of them. */
static bool parse_action_option(const fw_words *words, fw_word word, flakeway_action *action, bool *known)
{
    fw_word value;
    fw_range range;
    *known = true;
    if (action->kind == FLAKEWAY_CORRUPT && fw_word_value(word, "bit", &value)) {
        action->corrupt_one_bit = true;
        return fw_read_number(words, value, 0, FLAKEWAY_PACKET_MAX_BYTES * 8u - 1, &action->corrupt_first);
    }
    if (action->kind == FLAKEWAY_CORRUPT && fw_word_value(word, "byte", &value)) {
        if (!fw_read_range(words, value, 0, FLAKEWAY_PACKET_MAX_BYTES - 1, &range))
            return false;
        action->corrupt_one_bit = false;
        action->corrupt_first = range.first;
        action->corrupt_last = range.last;
        return true;
    }
    if (action->kind == FLAKEWAY_DUPLICATE && fw_word_value(word, "count", &value))
        return fw_read_number(words, value, 1, COPIES_MAX, &action->copies);
    if (action->kind == FLAKEWAY_DUPLICATE && fw_word_value(word, "gap", &value))
        return fw_read_time(words, value, &action->gap_us);
    *known = false;
    return true;
}

/* ---- conditions ------------------------------------------------------------------------------------------- */

static bool add_type_name(fw_word word, fw_condition *condition)
{
    for (size_t i = 0; i < COUNT(packet_types); i++) {
        if (fw_word_is(word, packet_types[i])) {
            condition->types |= (uint16_t)(1u << i);
            return true;
        }
    }
    for (size_t i = 0; i < COUNT(message_types); i++) {
        if (fw_word_is(word, message_types[i])) {
            condition->messages |= (uint8_t)(1u << i);
            return true;
        }
    }
    return false;
}

/* "DATA", "GO|OK". */
static bool parse_type_names(const fw_words *words, fw_word word, fw_condition *condition)
{
    if (!condition->any_type)
        return fw_fail(words, word, "is a second type; write GO|OK for either");
    fw_word part = {.start = word.start, .length = 0, .column = word.column};
    for (size_t i = 0; i <= word.length; i++) {
        if (i < word.length && word.start[i] != '|') {
            part.length++;
            continue;
        }
        if (!add_type_name(part, condition)) {
            return fw_fail(
                words, part.length ? part : word,
                "is no direction (a>b, b>a), no type (OPEN, RESPONSE, KEEPALIVE, QUIT, QUITACK, ABORT, DATA, "
                "LDATA, NULL-ACK, CONTROL, REFUSED, DONE; GO, OK, RESEND) and no option of this action");
        }
        part = (fw_word){.start = word.start + i + 1, .length = 0, .column = word.column + (unsigned)i + 1};
    }
    condition->any_type = false;
    return true;
}

static bool parse_key(const fw_words *words, fw_word word, fw_rule_spec *rule)
{
    fw_word value;
    fw_condition *condition = &rule->condition;
    if (fw_word_value(word, "type", &value))
        return fw_read_range(words, value, 0, UINT8_MAX, &condition->type_code);
    if (fw_word_value(word, "buffer", &value))
        return fw_read_range(words, value, 0, UINT32_MAX, &condition->buffer);
    if (fw_word_value(word, "packet", &value))
        return fw_read_range(words, value, 0, UINT16_MAX, &condition->packet);
    if (fw_word_value(word, "seq", &value))
        return fw_read_range(words, value, 0, UINT16_MAX, &condition->sequence);
    if (fw_word_value(word, "nth", &value))
        return fw_read_range(words, value, 1, UINT32_MAX, &rule->nth);
    if (fw_word_value(word, "every", &value))
        return fw_read_number(words, value, 1, UINT32_MAX, &rule->every);
    if (fw_word_value(word, "chance", &value))
        return fw_read_percent(words, value, &rule->chance_ppb);
    return fw_fail(words, word,
                   "is no option of this action and no condition; conditions are type=, buffer=, packet=, "
                   "seq=, nth=, every=, chance=");
}

static bool parse_condition(const fw_words *words, fw_word word, fw_rule_spec *rule)
{
    uint8_t directions;
    if (fw_read_direction(word, &directions)) {
        rule->condition.directions = directions;
        return true;
    }
    if (memchr(word.start, '=', word.length))
        return parse_key(words, word, rule);
    return parse_type_names(words, word, &rule->condition);
}

/* Refuses the first word "key=...", saying why. */
static bool refuse_key(const fw_words *words, const char *key, const char *why)
{
    fw_words again = fw_words_of(words->begin, words->error);
    fw_word word;
    fw_word value;
    while (fw_next_word(&again, &word) && !fw_word_value(word, key, &value)) {
    }
    return fw_fail(words, word, why);
}

/* A rule that can never match is a mistake: report it. */
static bool check_condition(const fw_words *words, const fw_rule_spec *rule)
{
    const fw_condition *condition = &rule->condition;
    const unsigned data = 1u << FW_DATA | 1u << FW_LDATA;
    const unsigned control = 1u << FW_CONTROL;
    bool has_data = condition->any_type || (condition->types & data);
    bool has_control = condition->any_type || condition->messages || (condition->types & control);
    bool has_resend = condition->any_type || (condition->types & control) || (condition->messages & 1u << FW_RESEND);
    if (condition->type_code.set && !condition->any_type)
        return refuse_key(words, "type", "and a type's name exclude each other");
    if (condition->buffer.set && !has_data && !has_control)
        return refuse_key(words, "buffer", "can only be asked of DATA, LDATA, CONTROL, GO, OK and RESEND");
    if (condition->packet.set && !has_data && !has_resend)
        return refuse_key(words, "packet", "can only be asked of DATA, LDATA and RESEND");
    if (condition->sequence.set && !has_control)
        return refuse_key(words, "seq", "can only be asked of CONTROL, GO, OK and RESEND");
    if (rule->nth.set && rule->every)
        return refuse_key(words, "every", "and nth= exclude each other");
    return true;
}

static bool parse_rule(fw_words *words, fw_rule_spec *rule)
{
    fw_word word;
    *rule = (fw_rule_spec){.chance_ppb = FW_PPB_ALWAYS};
    rule->condition.directions = BOTH_DIRECTIONS;
    rule->condition.any_type = true;
    if (!parse_action_head(words, &rule->action))
        return false;
    while (fw_next_word(words, &word)) {
        bool known;
        if (!parse_action_option(words, word, &rule->action, &known))
            return false;
        if (!known && !parse_condition(words, word, rule))
            return false;
    }
    return check_condition(words, rule);
}

/* ---- settings --------------------------------------------------------------------------------------------- */

static bool is_percentage(fw_word word)
{
    return word.length > 0 && word.start[word.length - 1] == '%' && !memchr(word.start, '=', word.length);
}

/* Whether the line is a setting. "duplicate" and "corrupt" are one when a percentage follows, else an action. */
static bool setting_kind(const fw_words *words, enum fw_setting_kind *kind)
{
    static const struct {
        const char *name;
        enum fw_setting_kind kind;
        bool action_too;
    } settings[] = {
        {"loss", FW_SET_LOSS, false},       {"duplicate", FW_SET_DUPLICATE, true}, {"reorder", FW_SET_REORDER, false},
        {"corrupt", FW_SET_CORRUPT, true},  {"latency", FW_SET_LATENCY, false},    {"jitter", FW_SET_JITTER, false},
        {"rate", FW_SET_RATE, false},       {"queue", FW_SET_QUEUE, false},        {"framing", FW_SET_FRAMING, false},
        {"cells", FW_SET_CELLS, false},     {"frames", FW_SET_FRAMES, false},      {"mtu", FW_SET_MTU, false},
        {"gilbert", FW_SET_GILBERT, false}, {"spread", FW_SET_SPREAD, false}};
    fw_words ahead = *words;
    fw_word name;
    fw_word argument;
    fw_next_word(&ahead, &name);
    fw_next_word(&ahead, &argument);
    for (size_t i = 0; i < COUNT(settings); i++) {
        if (fw_word_is(name, settings[i].name) && (!settings[i].action_too || is_percentage(argument))) {
            *kind = settings[i].kind;
            return true;
        }
    }
    return false;
}

static bool parse_setting_argument(fw_words *words, fw_setting *setting)
{
    fw_word word;
    fw_next_word(words, &word);
    switch (setting->kind) {
    case FW_SET_FRAMING:
    case FW_SET_CELLS:
    case FW_SET_FRAMES:
    case FW_SET_MTU:
    case FW_SET_GILBERT:
        return fw_parse_path_argument(words, word, setting);
    case FW_SET_LATENCY:
    case FW_SET_JITTER:
    case FW_SET_SPREAD:
        return fw_read_time(words, word, &setting->time_us);
    case FW_SET_RATE:
        return fw_read_rate(words, word, &setting->bits_per_s);
    case FW_SET_QUEUE:
        return fw_read_queue(words, word, &setting->queue_packets, &setting->queue_bytes, &setting->queue_time_us,
                             &setting->queue_cells);
    case FW_SET_REORDER:
        setting->time_us = REORDER_DEFAULT_US;
        break;
    default:
        break;
    }
    return fw_read_percent(words, word, &setting->ppb);
}

static bool parse_setting(fw_words *words, fw_setting *setting)
{
    fw_word word;
    fw_word value;
    bool known;
    fw_next_word(words, &word);
    setting->directions = BOTH_DIRECTIONS;
    if (!parse_setting_argument(words, setting))
        return false;
    while (fw_next_word(words, &word)) {
        if (fw_read_direction(word, &setting->directions))
            continue;
        if (setting->kind == FW_SET_REORDER && fw_word_is(word, "by")) {
            fw_next_word(words, &word);
            if (!fw_read_time(words, word, &setting->time_us))
                return false;
        } else if (setting->kind == FW_SET_DUPLICATE && fw_word_value(word, "gap", &value)) {
            if (!fw_read_time(words, value, &setting->time_us))
                return false;
        } else if (fw_parse_path_option(words, word, setting, &known)) {
            if (!known)
                return false;
        } else {
            return fw_fail(words, word,
                           "does not belong here: a rate has a direction (a>b, b>a) and no conditions; "
                           "a rule with chance=2% has both");
        }
    }
    return true;
}

/* ---- lines ------------------------------------------------------------------------------------------------ */

bool fw_parse(const char *text, fw_statement *statement, flakeway_error *error)
{
    fw_words words = fw_words_of(text, error);
    *statement = (fw_statement){0};
    if (strlen(text) >= FLAKEWAY_RULE_TEXT_BYTES) {
        char what[64];
        snprintf(what, sizeof what, "the rule is longer than %d characters", FLAKEWAY_RULE_TEXT_BYTES - 1);
        return fw_fail(&words, (fw_word){.column = FLAKEWAY_RULE_TEXT_BYTES}, what);
    }
    statement->is_setting = setting_kind(&words, &statement->setting.kind);
    return statement->is_setting ? parse_setting(&words, &statement->setting) : parse_rule(&words, &statement->rule);
}

int flakeway_parse_action(const char *text, flakeway_action *action, flakeway_error *error)
{
    fw_words words = fw_words_of(text, error);
    fw_word word;
    bool known;
    *action = (flakeway_action){0};
    if (!parse_action_head(&words, action))
        return -1;
    while (fw_next_word(&words, &word)) {
        if (!parse_action_option(&words, word, action, &known))
            return -1;
        if (!known) {
            fw_fail(&words, word, "is no option of this action; a hook's answer has no conditions");
            return -1;
        }
    }
    if (action->kind == FLAKEWAY_HOOK) {
        fw_fail(&words, (fw_word){.start = text, .length = strlen(text), .column = 1}, "is not for hooks to answer");
        return -1;
    }
    return 0;
}
