/* SPDX-License-Identifier: BSD-2-Clause */
/* A third rate controller, of 60 lines, proves the interface of rate_interface.h: additive increase, multiplicative
 * decrease. It knows nothing of the automatic controller, and connections know nothing of it but its table. */
#include "check.h"
#include "connection/connection.h"
#include "pair.h"
#include "rate/rate_pair.h"
#include "rate_lane.h"

#define START_INTERVAL_MS 20
#define STEP_PER_S 100.0 /* packets a second more, for each second without loss */

struct aimd {
    struct nb_burst negotiated, offered, in_force;
    uint16_t offered_seq, acked;
    double rate; /* packets a second */
    double limit;
    netblt_time raised_at, cut_at, round_trip_us;
};
_Static_assert(sizeof(struct aimd) <= sizeof(union nb_rate_memory), "the memory of a controller");

static unsigned offers, arrivals, cuts, adoptions; /* calls of all connections of a test */

static void aimd_begin(void *state, const struct nb_rate_setup *setup)
{
    struct aimd *aimd = state;
    *aimd = (struct aimd){.negotiated = setup->negotiated,
                          .offered = setup->negotiated,
                          .in_force = setup->negotiated,
                          .rate = nb_pair_rate(setup->negotiated),
                          .limit = setup->limit_rate,
                          .round_trip_us = SECOND};
}

static struct nb_burst aimd_offer(void *state, uint16_t seq, netblt_time now)
{
    struct aimd *aimd = state;
    offers++;
    aimd->rate += STEP_PER_S * (double)(now - aimd->raised_at) / (double)SECOND;
    aimd->raised_at = now;
    if (aimd->rate > aimd->limit)
        aimd->rate = aimd->limit;
    aimd->offered = nb_pair_for_rate(aimd->rate, NB_BURST_USUAL_MOST, 1, false);
    aimd->offered_seq = seq;
    return aimd->offered;
}

static struct nb_burst aimd_in_force(const void *state)
{
    const struct aimd *aimd = state;
    return aimd->in_force;
}

static void aimd_acked(void *state, uint16_t ack)
{
    struct aimd *aimd = state;
    aimd->acked = ack;
    if (ack == aimd->offered_seq)
        aimd->in_force = aimd->offered;
}

static void aimd_round_trip(void *state, netblt_time us, netblt_time now)
{
    (void)now;
    struct aimd *aimd = state;
    aimd->round_trip_us = us;
}

static void aimd_arrival(void *state, const struct nb_rate_packet *packet, netblt_time now)
{
    struct aimd *aimd = state;
    arrivals++;
    if (aimd->raised_at == 0)
        aimd->raised_at = now;
    bool again = now - aimd->cut_at < 2 * aimd->round_trip_us; /* the loss before the cut was in force */
    if (packet->gap == 0 || (aimd->cut_at != 0 && again))
        return;
    aimd->rate /= 2;
    aimd->cut_at = aimd->raised_at = now;
    cuts++;
}

static struct nb_burst aimd_adopt(struct nb_burst offer, struct nb_burst current, const struct nb_rate_limits *limits,
                                  bool *restricted)
{
    adoptions++;
    return nb_rate_auto.adopt(offer, current, limits, restricted);
}

static const struct nb_rate_controller aimd = {
    .name = "aimd",
    .begin = aimd_begin,
    .offer = aimd_offer,
    .in_force = aimd_in_force,
    .arrival = aimd_arrival,
    .acked = aimd_acked,
    .round_trip = aimd_round_trip,
    .adopt = aimd_adopt,
};

static void count_anew(void)
{
    offers = arrivals = cuts = adoptions = 0;
}

static void it_shares_out_a_link_without_any_change_of_the_core(void)
{
    static struct lane lane;
    count_anew();
    lane_init(&lane, 2000, 50 * MS, NETBLT_RATE_FIXED);
    const struct nb_rate_setup setup = {lane.pair, BUFFER_PACKETS, 1e12, .seed = 7};
    nb_rate_control_begin(&lane.rate, &aimd, &setup);
    CHECK_EQUAL(nb_rate_control_credit(&lane.rate, 77), 77); /* its table has no credit */
    CHECK(nb_rate_control_window_allows(&lane.rate, UINT64_MAX));
    CHECK(nb_rate_control_report(&lane.rate).why == NULL);
    lane_run(&lane, 60); /* 400 packets a second and 100 more each second: at the link after 16 s */
    lane_run(&lane, 120);
    CHECK(cuts >= 2);
    CHECK((double)lane.arrived > 0.6 * 2000 * 120);
    CHECK((double)lane.dropped < 0.05 * (double)lane.sent);
}

static void take_over(void *context, netblt_connection *connection)
{
    (void)context;
    if (connection->role == NETBLT_SENDER) {
        connection->sender.rate_controller = &aimd;
        return;
    }
    const netblt_params *agreed = &connection->agreed;
    const struct nb_rate_setup setup = {
        .negotiated = {agreed->burst_size, agreed->burst_interval_ms},
        .buffer_packets = connection->receiver.packets_per_buffer,
        .limit_rate = 1e12,
        .seed = 7,
    };
    nb_rate_control_begin(&connection->receiver.rate, &aimd, &setup);
}

static void whole_transfers_follow_it(void)
{
    for (unsigned loss_permille = 0; loss_permille <= 20; loss_permille += 20) {
        struct pair_case c;
        struct pair_result result;
        count_anew();
        pair_case_default(&c);
        c.size = 2000000;
        c.opened = take_over;
        c.faults[0].loss_permille = loss_permille;
        pair_run(&c, &result);
        CHECK(offers > 1);
        CHECK(adoptions > 1);
        CHECK(arrivals >= result.receiver.data_packets_received);
        CHECK((cuts > 0) == (loss_permille > 0));
    }
}

int main(void)
{
    RUN(it_shares_out_a_link_without_any_change_of_the_core);
    RUN(whole_transfers_follow_it);
    return 0;
}
