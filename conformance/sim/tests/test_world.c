/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The world simulator by itself: transfers, cards, cross traffic, mistakes; also what the sanitizers look at. */
#include "world.h"

#include <stdio.h>
#include <string.h>

static int failures;

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: %s: not so: %s\n", __FILE__, __LINE__, __func__, #condition);                      \
            failures++;                                                                                                \
        }                                                                                                              \
    } while (0)

#define SECOND_US UINT64_C(1000000)
#define PACKETS 1000u

static world_flow some_flow(uint8_t sender, uint8_t receiver)
{
    return (world_flow){.sender = sender,
                        .receiver = receiver,
                        .route = {.hops = 1},
                        .bytes = PACKETS * 1000,
                        .buffer_size = 10000,
                        .packet_size = 1000,
                        .burst_size = 5,
                        .burst_interval_ms = 10,
                        .max_buffers = 4,
                        .death_timer_s = 60};
}

static world *two_hosts(uint64_t seed, const world_host *host)
{
    world *w = world_new(seed);
    CHECK(world_add_link(w, false) == 0);
    CHECK(world_add_host(w, host) == 0);
    CHECK(world_add_host(w, host) == 1);
    return w;
}

static void a_transfer_over_a_lossy_link_completes_and_repeats_itself(void)
{
    const world_host ideal = {.data_variance_percent = UINT32_MAX};
    world_flow_stats stats[2];
    for (unsigned i = 0; i < 2; i++) {
        world *w = two_hosts(7, &ideal);
        const world_flow flow = some_flow(0, 1);
        size_t buffers;
        CHECK(world_set_link(w, 0, 0, "rate 10Mbit") == 0);
        CHECK(world_set_link(w, 0, 0, "latency 20ms") == 0);
        CHECK(world_set_link(w, 0, 0, "loss 3%") == 0);
        CHECK(world_set_link(w, 0, SECOND_US, "latency 40ms") == 0);
        CHECK(world_add_flow(w, &flow) == 0);
        world_trace(w);
        CHECK(world_run(w, SECOND_US / 2) == WORLD_TIME);
        CHECK(world_run(w, 600 * SECOND_US) == WORLD_DONE);
        world_get_flow(w, 0, &stats[i]);
        CHECK(world_buffers(w, 0, &buffers)[PACKETS / 10 - 1].acked_ns > 0);
        CHECK(buffers == PACKETS / 10);
        world_free(w);
    }
    CHECK(stats[0].finished && stats[0].delivered_bytes == PACKETS * 1000);
    CHECK(stats[0].data_packets_retransmitted > 10 && stats[0].data_packets_retransmitted < 100);
    CHECK(stats[0].receiver_done_ns == stats[1].receiver_done_ns);
    CHECK(stats[0].data_packets_sent == stats[1].data_packets_sent);
    CHECK(stats[0].data_timeouts == stats[1].data_timeouts && stats[0].round_trip_us == stats[1].round_trip_us);
}

/* 5 packets of 4 ms each do not fit 10 ms: the processor decides. */
static void a_slow_host_sends_as_fast_as_it_can(void)
{
    const world_host slow = {.data_variance_percent = UINT32_MAX, .send_packet_ns = 4000000};
    world *w = two_hosts(1, &slow);
    const world_flow flow = some_flow(0, 1);
    world_flow_stats stats;
    world_add_flow(w, &flow);
    CHECK(world_run(w, 600 * SECOND_US) == WORLD_DONE);
    world_get_flow(w, 0, &stats);
    CHECK(stats.receiver_done_ns >= PACKETS * 4000000ull && stats.receiver_done_ns < PACKETS * 4050000ull);
    world_free(w);
}

static void a_card_with_one_buffer_loses_what_comes_while_it_sends(void)
{
    const world_host half = {.data_variance_percent = UINT32_MAX,
                             .send_packet_ns = 1000000,
                             .control_send_ns = 1000000,
                             .card_half_duplex = true,
                             .card_bits_per_s = 10000000,
                             .card_reenable_ns = 1000000};
    world *w = two_hosts(1, &half);
    const world_flow flow = some_flow(0, 1);
    world_flow_stats stats;
    world_host_stats host;
    CHECK(world_set_link(w, 0, 0, "latency 2500us") == 0);
    world_add_flow(w, &flow);
    CHECK(world_run(w, 600 * SECOND_US) == WORLD_DONE);
    world_get_flow(w, 0, &stats);
    world_get_host(w, 1, &host);
    CHECK(stats.finished);
    CHECK(host.card_deaf > 10 && stats.data_packets_sent - stats.data_packets_received <= host.card_deaf);
    world_free(w);
}

static void a_finite_queue_before_a_slow_processor_overflows(void)
{
    const world_host slow = {
        .data_variance_percent = UINT32_MAX, .receive_packet_ns = 5000000, .receive_queue_packets = 3};
    world *w = two_hosts(1, &slow);
    const world_flow flow = some_flow(0, 1);
    world_host_stats host;
    world_add_flow(w, &flow);
    world_run(w, 2 * SECOND_US);
    world_get_host(w, 1, &host);
    CHECK(host.queue_full > 10);
    world_free(w);
}

static void cross_traffic_takes_what_it_says_and_is_counted(void)
{
    const world_host ideal = {.data_variance_percent = UINT32_MAX};
    world *w = two_hosts(1, &ideal);
    world_cross cross = {.route = {.hops = 1},
                         .stop_us = 10 * SECOND_US,
                         .packet_bytes = 1250,
                         .burst_packets = 2,
                         .period_ns = 20000000};
    world_link_stats stats;
    world_flow flow = some_flow(0, 1);
    flow.start_us = 100 * SECOND_US;
    CHECK(world_set_link(w, 0, 0, "rate 10Mbit") == 0);
    CHECK(world_add_cross(w, &cross) == 0);
    cross.random = true;
    CHECK(world_add_cross(w, &cross) == 1);
    world_add_flow(w, &flow);
    world_run(w, 50 * SECOND_US);
    world_get_link(w, 0, 0, &stats);
    CHECK(stats.cross_offered > 1850 && stats.cross_offered < 2150); /* 1000 periodic, about 1000 random */
    CHECK(stats.cross_delivered == stats.cross_offered);
    world_free(w);
}

static void a_route_over_two_links_takes_both_delays(void)
{
    const world_host ideal = {.data_variance_percent = UINT32_MAX};
    world *w = two_hosts(1, &ideal);
    world_flow flow = some_flow(0, 1);
    world_flow_stats stats;
    CHECK(world_add_link(w, true) == 1);
    CHECK(world_set_link(w, 0, 0, "latency 30ms") == 0);
    CHECK(world_set_link(w, 1, 0, "latency 20ms") == 0);
    flow.route = (world_route){.hops = 2, .hop = {{.link = 0}, {.link = 1}}};
    world_add_flow(w, &flow);
    CHECK(world_run(w, 600 * SECOND_US) == WORLD_DONE);
    world_get_flow(w, 0, &stats);
    CHECK(stats.round_trip_us >= 100000 && stats.round_trip_us < 125000);
    world_free(w);
}

static void what_cannot_be_is_refused_with_its_reason(void)
{
    const world_host ideal = {.data_variance_percent = UINT32_MAX};
    world_flow flow = some_flow(0, 1);
    world *w = two_hosts(1, &ideal);
    flow.route.hop[0].link = 3;
    CHECK(world_add_flow(w, &flow) < 0);
    CHECK(strstr(world_error(w), "link 3") != NULL);
    world_free(w);
    w = two_hosts(1, &ideal);
    CHECK(world_set_link(w, 0, 0, "loss lots") < 0 && strstr(world_error(w), "lots") != NULL);
    world_free(w);
    w = two_hosts(1, &ideal);
    CHECK(world_set_link(w, 0, SECOND_US, "loss lots") < 0);
    world_free(w);
    w = two_hosts(1, &ideal);
    flow = some_flow(1, 1);
    CHECK(world_add_flow(w, &flow) < 0);
    CHECK(world_capture(w, 0, "/nonexistent/file") < 0);
    world_free(w);
}

int main(void)
{
    a_transfer_over_a_lossy_link_completes_and_repeats_itself();
    a_slow_host_sends_as_fast_as_it_can();
    a_card_with_one_buffer_loses_what_comes_while_it_sends();
    a_finite_queue_before_a_slow_processor_overflows();
    cross_traffic_takes_what_it_says_and_is_counted();
    a_route_over_two_links_takes_both_delays();
    what_cannot_be_is_refused_with_its_reason();
    return failures != 0;
}
