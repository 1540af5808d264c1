/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One line of the flakeway's language, understood. */
#ifndef FLAKEWAY_STATEMENT_H
#define FLAKEWAY_STATEMENT_H

#include "flakeway.h"
#include "match.h"
#include "path.h"

/* Settings of the link and of the rates. */
enum fw_setting_kind {
    FW_SET_LOSS,
    FW_SET_DUPLICATE,
    FW_SET_REORDER,
    FW_SET_CORRUPT,
    FW_SET_LATENCY,
    FW_SET_JITTER,
    FW_SET_RATE,
    FW_SET_QUEUE,
    FW_SET_FRAMING,
    FW_SET_CELLS,
    FW_SET_FRAMES,
    FW_SET_MTU,
    FW_SET_GILBERT,
    FW_SET_SPREAD,
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
    uint32_t ppb;         /* LOSS, DUPLICATE, REORDER, CORRUPT; MTU: late fragments; GILBERT: good to bad */
    uint64_t time_us;     /* REORDER: extra delay; DUPLICATE: gap; LATENCY, JITTER, SPREAD; FRAMES; MTU: how late */
    uint64_t bits_per_s;  /* RATE: 0 = unlimited; CELLS: 0 = all at once; FRAMES: bits in a frame */
    uint32_t bytes;       /* FRAMING, MTU; CELLS: payload */
    uint32_t cell_bytes;  /* CELLS */
    uint32_t to_good_ppb; /* GILBERT */
    uint32_t bad_loss_ppb;
    uint32_t good_loss_ppb;
    enum fw_spread_kind spread;
    uint32_t queue_packets; /* QUEUE: one of the four; the others are UINT32_MAX and UINT64_MAX */
    uint32_t queue_cells;
    uint64_t queue_bytes;
    uint64_t queue_time_us;
} fw_setting;

typedef struct fw_statement {
    bool is_setting;
    fw_rule_spec rule;
    fw_setting setting;
} fw_statement;

#endif
