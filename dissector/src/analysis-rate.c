/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The pace (RFC 998 section 4): RATE-01, 02, 03. Every span T may hold size * (T / interval + 2) packets: one burst at
 * either edge. A bucket says the same in constant time: it holds two bursts and drains a burst per interval. The
 * loosest pair that may be in force counts. Only a capture at the sender shows its clock; elsewhere queues compress
 * bursts. */
#include "analysis.h"

#define BURSTS_AT_ONCE 2.0

void nb_rate_offer(const struct nb_event *event, struct nb_pace pace)
{
    struct nb_bucket *bucket = &event->stream->facts->bucket;

    if (pace.size == 0) {
        return; /* AMB-11: the old size stays */
    }
    if (bucket->pace.size == 0) {
        bucket->pace = pace;
    } else {
        bucket->pace.size = MAX(bucket->pace.size, pace.size);
        bucket->pace.interval = MIN(bucket->pace.interval, pace.interval);
    }
}

/* Packets close together are a burst; `gap` is the time since the packet before, in seconds. */
static void count_burst(struct nb_bucket *bucket, double gap)
{
    enum { GAPS_PER_INTERVAL = 8 };

    if (gap > bucket->pace.interval / 1000.0 / GAPS_PER_INTERVAL) {
        bucket->in_burst = 0;
    }
    bucket->in_burst++;
    bucket->largest_burst = MAX(bucket->largest_burst, bucket->in_burst);
}

static void overflow(const struct nb_event *event, struct nb_bucket *bucket, bool repeated)
{
    const enum nb_rule rule = repeated                                    ? NB_RULE_RATE_REPAIRS
                              : bucket->largest_burst > bucket->pace.size ? NB_RULE_RATE_BURST
                                                                          : NB_RULE_RATE_INTERVAL;
    const struct nb_charge charge = {.rule = rule, .offender = event->end};

    bucket->level = bucket->pace.size;
    bucket->largest_burst = 0;
    if (event->at_sender) {
        nb_blame(event, &charge, "more packets than bursts of %u every %u ms", bucket->pace.size,
                 bucket->pace.interval);
    } else {
        nb_remark(event, NB_NOTES_RATE,
                  "more packets than bursts of %u every %u ms, perhaps compressed "
                  "on the way",
                  bucket->pace.size, bucket->pace.interval);
    }
}

void nb_rate_packet(const struct nb_event *event, bool repeated)
{
    struct nb_bucket *bucket = &event->stream->facts->bucket;

    if (bucket->pace.size == 0 || bucket->pace.interval == 0) {
        return;
    }
    const double gap = event->now - bucket->when;
    const double drained = gap * 1000.0 / bucket->pace.interval * bucket->pace.size;
    bucket->when = event->now;
    bucket->level = MAX(bucket->level - MAX(drained, 0.0), 0.0) + 1.0;
    count_burst(bucket, gap);
    if (bucket->level > BURSTS_AT_ONCE * bucket->pace.size + 1e-6) {
        overflow(event, bucket, repeated);
    } else if (event->at_sender) {
        nb_keep(event, NB_RULE_RATE_BURST);
        nb_keep(event, NB_RULE_RATE_INTERVAL);
        if (repeated) {
            nb_keep(event, NB_RULE_RATE_REPAIRS);
        }
    }
}
