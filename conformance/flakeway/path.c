/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Impairments of one direction beside the plain rates: IP fragments, loss in bursts, delays that reorder. */
#include "path.h"

#define IPV4_HEADER_BYTES 20
#define FRAGMENT_UNIT_BYTES 8 /* RFC 791 3.2: every fragment but the last carries a multiple */

void fw_path_reset(fw_path *path)
{
    const fw_random random = path->random;
    *path = (fw_path){.random = random};
}

/* What fits one fragment, without its header. */
static size_t fragment_payload(const fw_path *path)
{
    return (path->mtu - IPV4_HEADER_BYTES) / FRAGMENT_UNIT_BYTES * FRAGMENT_UNIT_BYTES;
}

static uint32_t fragments_of(const fw_path *path, size_t bytes)
{
    if (path->mtu == 0 || bytes <= path->mtu)
        return 1;
    size_t each = fragment_payload(path);
    return (uint32_t)((bytes - IPV4_HEADER_BYTES + each - 1) / each);
}

/* |N(0, 1)|: the sum of twelve uniform numbers less six is close to normal, and exact arithmetic. */
static double half_normal(fw_random *random)
{
    double sum = -6;
    for (int i = 0; i < 12; i++)
        sum += (double)(fw_random_next(random) >> 11) / 9007199254740992.0;
    return sum < 0 ? -sum : sum;
}

static uint64_t spread(fw_path *path)
{
    double share = 0;
    if (path->spread_us == 0)
        return 0;
    switch (path->spread_kind) {
    case FW_SPREAD_UNIFORM:
        return fw_below(fw_random_next(&path->random), path->spread_us + 1);
    case FW_SPREAD_EXPONENTIAL:
        share = fw_exponential(&path->random);
        break;
    case FW_SPREAD_NORMAL:
        share = half_normal(&path->random);
        break;
    }
    return (uint64_t)(share * (double)path->spread_us);
}

static bool lost_in_bad_times(fw_path *path)
{
    if (path->to_bad_ppb == 0 && path->to_good_ppb == 0)
        return false;
    uint64_t loss = fw_random_next(&path->random);
    uint64_t change = fw_random_next(&path->random);
    bool lost = fw_chance(loss, path->is_bad ? path->bad_loss_ppb : path->good_loss_ppb);
    if (fw_chance(change, path->is_bad ? path->to_good_ppb : path->to_bad_ppb))
        path->is_bad = !path->is_bad;
    return lost;
}

fw_fate fw_path_draw(fw_path *path, size_t bytes, uint32_t loss_ppb)
{
    fw_fate fate = {.fragments = fragments_of(path, bytes)};
    fate.lost_in_bad_times = lost_in_bad_times(path);
    fate.delay_us = spread(path);
    for (uint32_t i = 1; i < fate.fragments; i++)
        fate.fragment_lost = fw_chance(fw_random_next(&path->random), loss_ppb) || fate.fragment_lost;
    if (fate.fragments > 1 && path->late_ppb) {
        fate.late = fw_chance(fw_random_next(&path->random), path->late_ppb);
        fate.delay_us += fate.late ? path->late_us : 0;
    }
    return fate;
}

bool fw_path_admit(const fw_path *path, fw_link *link, size_t bytes, uint64_t now_us, uint64_t *exit_us)
{
    if (fragments_of(path, bytes) == 1)
        return fw_link_admit(link, bytes, now_us, exit_us);
    size_t left = bytes - IPV4_HEADER_BYTES;
    for (size_t each = fragment_payload(path); left > 0;) {
        size_t payload = left < each ? left : each;
        if (!fw_link_admit(link, IPV4_HEADER_BYTES + payload, now_us, exit_us))
            return false;
        left -= payload;
    }
    return true;
}
