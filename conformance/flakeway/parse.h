/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef FLAKEWAY_PARSE_H
#define FLAKEWAY_PARSE_H

#include "flakeway.h"
#include "match.h"

/* One line of the flakeway's language, understood: a rule or a setting of the link or of the rates. */
enum fw_setting_kind {
    FW_SET_LOSS,
    FW_SET_DUPLICATE,
    FW_SET_REORDER,
    FW_SET_CORRUPT,
    FW_SET_LATENCY,
    FW_SET_JITTER,
    FW_SET_RATE,
    FW_SET_QUEUE,
};

typedef struct fw_rule_spec {
    fw_condition condition;
    flakeway_action action;
    fw_range nth;        /* which of the packets that meet the condition, from 1 */
    uint32_t every;      /* every such packet whose number divides by this; 0 = not given */
    uint32_t chance_ppb; /* FW_PPB_ALWAYS when not given */
} fw_rule_spec;

typedef struct fw_setting {
    enum fw_setting_kind kind;
    uint8_t directions;
    uint32_t ppb;           /* LOSS, DUPLICATE, REORDER, CORRUPT */
    uint64_t time_us;       /* REORDER: extra delay; DUPLICATE: gap; LATENCY, JITTER */
    uint64_t bits_per_s;    /* RATE: 0 = unlimited */
    uint32_t queue_packets; /* QUEUE: UINT32_MAX = counted in bytes */
    uint64_t queue_bytes;   /* QUEUE: UINT64_MAX = counted in packets */
} fw_setting;

typedef struct fw_statement {
    bool is_setting;
    fw_rule_spec rule;
    fw_setting setting;
} fw_statement;

/* true, or false with *error filled. */
bool fw_parse(const char *text, fw_statement *statement, flakeway_error *error);

#endif
