/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Impairments of one direction beside the plain rates: IP fragments, loss in bursts, delays that reorder. */
#ifndef FLAKEWAY_PATH_H
#define FLAKEWAY_PATH_H

#include "link.h"
#include "random.h"

/* What one direction does to packets beside the plain rates: IP fragments, bursty loss, delays that reorder. It draws
 * from a stream of its own, so that none of it changes the luck of anything else. */
enum fw_spread_kind {
    FW_SPREAD_UNIFORM = 0,
    FW_SPREAD_EXPONENTIAL,
    FW_SPREAD_NORMAL,
};

typedef struct fw_path {
    fw_random random;
    uint32_t mtu; /* 0 = any size; of IPv4 packets */
    uint64_t late_us;
    uint32_t late_ppb;
    /* Gilbert and Elliott's two states, left with these chances after each packet. 0 and 0 = not set. */
    uint32_t to_bad_ppb;
    uint32_t to_good_ppb;
    uint32_t bad_loss_ppb;
    uint32_t good_loss_ppb;
    bool is_bad;
    enum fw_spread_kind spread_kind;
    uint64_t spread_us;
} fw_path;

/* What a path has in store for one packet. */
typedef struct fw_fate {
    uint32_t fragments;     /* 1 = whole */
    bool lost_in_bad_times; /* by Gilbert and Elliott */
    bool fragment_lost;     /* another fragment than the first */
    bool late;              /* the last fragment is */
    uint64_t delay_us;      /* spread and lateness together */
} fw_fate;

void fw_path_reset(fw_path *path);
/* `bytes`: of the IPv4 packet; `loss_ppb`: of each fragment. */
fw_fate fw_path_draw(fw_path *path, size_t bytes, uint32_t loss_ppb);
/* Puts all fragments on the line: *exit_us is when the last has left. false = one of them found the queue full; those
 * before it have used the line in vain. */
bool fw_path_admit(const fw_path *path, fw_link *link, size_t bytes, uint64_t now_us, uint64_t *exit_us);

#endif
