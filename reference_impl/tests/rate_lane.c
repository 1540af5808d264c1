/* SPDX-License-Identifier: BSD-2-Clause */
/* A path that is a formula, for tests of automatic rate control: see rate_lane.h. */
#include "rate_lane.h"

#include "check.h"
#include "rate/rate_pair.h"
#include "rate_begin.h"

#include <string.h>

void lane_init(struct lane *lane, double link, netblt_time round_trip_us, enum netblt_rate mode)
{
    memset(lane, 0, sizeof *lane);
    lane->link = link;
    lane->queue_s = 0.1;
    lane->round_trip_us = round_trip_us;
    lane->random.state = 5;
    lane->pair = (struct nb_burst){8, 20};
    lane->next_seq = 1;
    rate_begin(&lane->rate, mode, lane->pair, BUFFER_PACKETS, 1e12, 7);
}

static void make_offer(struct lane *lane, netblt_time now)
{
    CHECK(lane->count < OFFERS_UNDER_WAY);
    struct offer *offer = &lane->offers[(lane->first + lane->count++) % OFFERS_UNDER_WAY];
    offer->seq = lane->next_seq++;
    offer->burst = nb_rate_control_offer(&lane->rate, offer->seq, now);
    offer->at = now + lane->round_trip_us / 2;
    lane->made_at[offer->seq] = now;
    CHECK(offer->burst.size >= 1);
}

static void arrive(struct lane *lane, uint64_t position, uint16_t acked, netblt_time now)
{
    lane->arrived++;
    if (acked != lane->seen_ack) {
        lane->seen_ack = acked;
        nb_rate_control_acked(&lane->rate, acked);
        netblt_time scatter = lane->scatter_us ? random_next(&lane->random) % lane->scatter_us : 0;
        nb_rate_control_round_trip(&lane->rate, now - lane->made_at[acked] + scatter, now);
    }
    uint64_t before = lane->rate.next_position / BUFFER_PACKETS;
    nb_rate_control_arrival(&lane->rate, NB_RATE_FRESH, position, now);
    if ((position + 1) / BUFFER_PACKETS != before)
        make_offer(lane, now);
}

/* A packet enters the link. */
static void enter(struct lane *lane)
{
    double now = (double)lane->now;
    uint64_t position = lane->position++;
    lane->sent++;
    if (lane->link > 0) {
        double share = lane->link * (1 - lane->others);
        if (lane->free_at < now)
            lane->free_at = now;
        if (lane->free_at - now > lane->queue_s * 1e6) {
            lane->dropped++;
            return;
        }
        lane->free_at += 1e6 / share;
        now = lane->free_at;
    }
    if (!lane->cut && !random_chance(&lane->random, lane->loss_permille))
        arrive(lane, position, lane->acked, (netblt_time)now + lane->round_trip_us / 2);
}

static void follow_offers(struct lane *lane)
{
    while (lane->count > 0 && lane->offers[lane->first].at <= lane->now) {
        const struct offer *offer = &lane->offers[lane->first];
        lane->acked = offer->seq;
        bool restricted = false;
        lane->pair = offer->burst;
        if (lane->sender_means.size != 0)
            lane->pair = rate_restrict(offer->burst, lane->pair, lane->sender_means, &restricted);
        if (restricted) /* as if its NULL-ACK took no time */
            nb_rate_control_null_ack(&lane->rate, lane->acked, lane->pair);
        if (lane->sender_most > 0)
            lane->pair = nb_pair_for_rate(lane->sender_most < nb_pair_rate(lane->pair) ? lane->sender_most
                                                                                       : nb_pair_rate(lane->pair),
                                          200, 1, false);
        lane->first = (lane->first + 1) % OFFERS_UNDER_WAY;
        lane->count--;
    }
}

/* A late sender does not catch up. The receiver sees packets when they enter, with the time at which they arrive:
 * nothing overtakes anything. */
void lane_step(struct lane *lane)
{
    follow_offers(lane);
    for (unsigned i = 0; i < lane->pair.size; i++)
        enter(lane);
    lane->now += lane->pair.interval_ms * MS;
    if (lane->late_permille > 0 && random_chance(&lane->random, lane->late_permille))
        lane->now += lane->late_us;
}

void lane_run(struct lane *lane, double seconds)
{
    netblt_time end = lane->now + (netblt_time)(seconds * 1e6);
    lane->sent = lane->dropped = lane->arrived = 0;
    while (lane->now < end)
        lane_step(lane);
}
