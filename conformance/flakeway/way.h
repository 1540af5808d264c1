/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One direction of the flakeway: its rates, its link, its path, and the packets that rules hold in it. */
#ifndef FLAKEWAY_WAY_H
#define FLAKEWAY_WAY_H

#include "flakeway.h"
#include "link.h"
#include "path.h"
#include "random.h"

/* A rate that hits packets by chance. */
typedef struct fw_rate {
    uint32_t ppb;
    uint64_t time_us; /* reorder: extra delay; duplicate: gap */
    char text[FLAKEWAY_RULE_TEXT_BYTES];
} fw_rate;

/* A packet inside the flakeway; its bytes follow it. */
typedef struct fw_node {
    struct fw_node *next_held;
    uint64_t id;
    uint64_t offered_us;
    uint64_t base_us; /* when it would leave if nothing else happened to it */
    uint32_t copy;
    uint32_t to_pass; /* held: packets that must still pass it */
    int holder;       /* held: the rule's ID */
    enum flakeway_direction direction;
    bool changed;
    flakeway_packet packet;
    uint8_t bytes[];
} fw_node;

typedef struct fw_way {
    fw_random random;
    fw_link link;
    fw_path path;
    char queue_text[FLAKEWAY_RULE_TEXT_BYTES];
    char gilbert_text[FLAKEWAY_RULE_TEXT_BYTES];
    char mtu_text[FLAKEWAY_RULE_TEXT_BYTES];
    fw_rate loss;
    fw_rate duplicate;
    fw_rate reorder;
    fw_rate corrupt;
    uint64_t latency_us;
    uint64_t jitter_us;
    uint64_t last_base_us; /* jitter keeps the order */
    fw_node *held;         /* in order of arrival */
    flakeway_stats stats;
} fw_way;

/* No rates, no latency, an unlimited link. Statistics, random numbers and held packets stay. */
void fw_way_reset(fw_way *way);

#endif
