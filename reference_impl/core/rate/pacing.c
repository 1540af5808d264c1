/* SPDX-License-Identifier: BSD-2-Clause */
/* Pacing at the sender (RFC 998 4): how many DATA packets may leave, and when. */
#include "rate/pacing.h"

#include <assert.h>

static netblt_time interval_us(const struct nb_pacing *pacing)
{
    return (netblt_time)pacing->burst.interval_ms * 1000;
}

void nb_pacing_init(struct nb_pacing *pacing, struct nb_burst burst, netblt_time catch_up_max_us)
{
    assert(burst.size > 0);
    *pacing = (struct nb_pacing){.burst = burst, .settled = burst, .catch_up_max_us = catch_up_max_us};
}

/* Whether the running burst still covers `now`. */
static bool burst_is_open(const struct nb_pacing *pacing, netblt_time now)
{
    return pacing->left > 0 && now < pacing->started_at + interval_us(pacing);
}

netblt_time nb_pacing_next(const struct nb_pacing *pacing, netblt_time now)
{
    if (!pacing->any || burst_is_open(pacing, now))
        return now;
    netblt_time next = pacing->started_at + interval_us(pacing);
    return next > now ? next : now;
}

/* RATE-02: the planned start, unless the host is so late that keeping the plan would squeeze bursts together. */
static netblt_time start_of_burst(const struct nb_pacing *pacing, netblt_time now)
{
    if (!pacing->any || interval_us(pacing) == 0)
        return now;
    netblt_time planned = pacing->started_at + interval_us(pacing);
    netblt_time quarter = interval_us(pacing) / 4;
    netblt_time tolerated = pacing->catch_up_max_us < quarter ? pacing->catch_up_max_us : quarter;
    return now - planned <= tolerated ? planned : now;
}

/* As a pair: one field may well be faster than before. */
static bool is_slower(struct nb_burst a, struct nb_burst b)
{
    return (uint32_t)a.size * b.interval_ms < (uint32_t)b.size * a.interval_ms;
}

uint16_t nb_pacing_begin(struct nb_pacing *pacing, netblt_time now)
{
    if (nb_pacing_next(pacing, now) > now)
        return 0;
    if (!burst_is_open(pacing, now)) {
        pacing->started_at = start_of_burst(pacing, now);
        pacing->any = true;
        if (is_slower(pacing->settled, pacing->burst))
            pacing->burst = pacing->settled;
        pacing->left = pacing->burst.size;
    }
    return pacing->burst.interval_ms == 0 ? UINT16_MAX : pacing->left;
}

void nb_pacing_sent(struct nb_pacing *pacing, uint16_t packets)
{
    pacing->left = packets < pacing->left ? (uint16_t)(pacing->left - packets) : 0;
}

void nb_pacing_ran_dry(struct nb_pacing *pacing)
{
    pacing->left = 0;
}

void nb_pacing_settle(struct nb_pacing *pacing, struct nb_burst burst)
{
    assert(burst.size > 0);
    pacing->settled = burst;
}

void nb_pacing_new_buffer(struct nb_pacing *pacing)
{
    pacing->burst = pacing->settled;
    if (pacing->left > pacing->burst.size)
        pacing->left = pacing->burst.size;
}
