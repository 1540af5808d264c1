/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests of many connections on one endpoint: each gets its share, and a packet costs no more because of the others. */
#define _GNU_SOURCE
#include "check.h"

#include <netblt/netblt.h>
#include <string.h>
#include <time.h>

enum { PACKET = 500, BUFFER = 4 * PACKET, MOST = 1000, HOST_PACKETS_PER_MS = 100 };

struct crowd {
    unsigned count;
    uint64_t buffers; /* for each to send */
    netblt_time done_at[MOST];
    uint64_t delivered[MOST];
    unsigned accepted, finished;
    uint64_t packets;
    netblt_time now;
};

static struct crowd crowd;
static uint8_t memory[BUFFER];
static unsigned numbers[MOST];

static enum netblt_send_buffer get_send_buffer(void *context, netblt_connection *connection, uint64_t index,
                                               uint32_t capacity, const uint8_t **data, uint32_t *length, bool *last)
{
    (void)context, (void)connection;
    *data = memory;
    *length = capacity;
    *last = index + 1 == crowd.buffers;
    return NETBLT_SEND_BUFFER_READY;
}

static uint8_t *get_receive_buffer(void *context, netblt_connection *connection, uint64_t index, uint32_t capacity)
{
    (void)context, (void)connection, (void)index, (void)capacity;
    return memory;
}

static void deliver(void *context, netblt_connection *connection, uint64_t index, uint8_t *data, uint32_t length,
                    bool last)
{
    (void)connection, (void)index, (void)data;
    unsigned number = *(unsigned *)context;
    crowd.delivered[number] += length;
    if (last) {
        crowd.done_at[number] = crowd.now;
        crowd.finished++;
    }
}

static const netblt_client client = {.size = sizeof(netblt_client),
                                     .get_send_buffer = get_send_buffer,
                                     .get_receive_buffer = get_receive_buffer,
                                     .deliver = deliver};

static void accept_all(void *context, const netblt_request *request, netblt_answer *answer)
{
    (void)context, (void)request;
    answer->accept = true;
    answer->client = &client;
    answer->context = &numbers[crowd.accepted++];
}

/* At most so many packets a millisecond leave the sending host: that is what the connections share. */
static bool carry(netblt_endpoint *from, netblt_endpoint *to, uint8_t to_address, unsigned *budget)
{
    static uint8_t packets[4096];
    netblt_output output;
    netblt_path path = {.local = {1, {to_address}}, .foreign = {1, {(uint8_t)(3 - to_address)}}};
    bool any = false;
    while (*budget > 0 && netblt_output_burst(from, packets, sizeof packets, &output, crowd.now) > 0) {
        netblt_input(to, &path, packets, output.length, output.segment_bytes, crowd.now);
        crowd.packets += output.count;
        *budget = output.count < *budget ? *budget - (unsigned)output.count : 0;
        any = true;
    }
    return any;
}

static double run(unsigned count, uint64_t buffers)
{
    netblt_config config;
    netblt_params params;
    netblt_config_default(&config);
    netblt_params_default(&params);
    params.packet_size = PACKET;
    params.buffer_size = BUFFER;
    params.max_buffers = 4;
    params.burst_interval_ms = 0;
    params.death_timer_s = 600;
    crowd = (struct crowd){.count = count, .buffers = buffers, .now = 1000000};
    netblt_endpoint *a = netblt_endpoint_new(&config), *b = netblt_endpoint_new(&config);
    netblt_path path = {.local = {1, {1}}, .foreign = {1, {2}}};
    CHECK_EQUAL(netblt_listen(b, 1, accept_all, NULL), 0);
    for (unsigned i = 0; i < count; i++) {
        netblt_connection *connection;
        CHECK_EQUAL(netblt_open(a,
                                &(netblt_open_args){.size = sizeof(netblt_open_args),
                                                    .path = &path,
                                                    .local_port = (uint16_t)(1000 + i),
                                                    .foreign_port = 1,
                                                    .role = NETBLT_SENDER,
                                                    .unique_id = i,
                                                    .params = &params,
                                                    .client = &client,
                                                    .context = &numbers[i]},
                                crowd.now, &connection),
                    0);
    }
    clock_t begun = clock();
    while (crowd.finished < count) {
        unsigned budget = HOST_PACKETS_PER_MS, back = HOST_PACKETS_PER_MS;
        while (carry(a, b, 2, &budget) || carry(b, a, 1, &back)) {
        }
        CHECK(crowd.now < UINT64_C(10000000000));
        crowd.now += 1000;
        netblt_timeout(a, crowd.now);
        netblt_timeout(b, crowd.now);
    }
    double seconds = (double)(clock() - begun) / CLOCKS_PER_SEC;
    for (unsigned i = 0; i < count; i++)
        CHECK_EQUAL(crowd.delivered[i], buffers * BUFFER);
    netblt_endpoint_free(a);
    netblt_endpoint_free(b);
    return seconds / (double)crowd.packets;
}

static void the_slowest_of_a_thousand_connections_gets_at_least_half_the_mean(void)
{
    run(MOST, 25);
    double sum = 0, least = 1e300;
    for (unsigned i = 0; i < MOST; i++) {
        double goodput = (double)crowd.delivered[i] / (double)(crowd.done_at[i] - 1000000);
        sum += goodput;
        least = goodput < least ? goodput : least;
    }
    printf("   slowest / mean = %.2f\n", least / (sum / MOST));
    CHECK(least >= 0.5 * sum / MOST);
}

/* Processor time, the best of three runs in turn; a list that is walked for every packet would show as a factor of a
 * hundred, caches and the logarithm of a heap show as little. */
static void a_packet_costs_hardly_more_among_a_thousand_connections(void)
{
    double few = 1e300, many = 1e300;
    for (int i = 0; i < 3; i++) {
        double cost = run(10, 1000);
        few = cost < few ? cost : few;
        cost = run(MOST, 10);
        many = cost < many ? cost : many;
    }
    printf("   %.0f ns a packet with 10 connections, %.0f ns with 1000\n", few * 1e9, many * 1e9);
    CHECK(many < 8 * few);
}

int main(void)
{
    for (unsigned i = 0; i < MOST; i++)
        numbers[i] = i;
    RUN(the_slowest_of_a_thousand_connections_gets_at_least_half_the_mean);
    RUN(a_packet_costs_hardly_more_among_a_thousand_connections);
    return 0;
}
