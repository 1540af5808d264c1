/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests at the limits: largest buffers, wrapped sequence numbers, very many connections. */
#define _GNU_SOURCE
#include "check.h"
#include "pair.h"
#include "peer.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void NEG_11_a_buffer_may_have_65535_packets(void)
{
    struct pair_case c;
    struct pair_result result;
    pair_case_default(&c);
    c.active.packet_size = 1;
    c.active.buffer_size = 65535;
    c.active.burst_size = 1000;
    c.active.burst_interval_ms = 1;
    c.active.max_buffers = 1;
    c.passive = c.active;
    c.size = 65535 + 100;
    c.faults[0].delay_us = c.faults[1].delay_us = 1000;
    c.faults[0].loss_permille = 30;
    pair_run(&c, &result);
    CHECK(result.sender.data_packets_sent >= 65635);
    CHECK(result.receiver.resends_sent > 1); /* more is missing than one RESEND holds */
}

static void AMB_12_a_transfer_outlives_the_wrap_of_its_control_sequence(void)
{
    struct pair_case c;
    struct pair_result result;
    pair_case_default(&c);
    c.active.packet_size = 1;
    c.active.buffer_size = 1;
    c.active.burst_interval_ms = 1;
    c.active.max_buffers = 60;
    c.passive = c.active;
    c.size = 70000;
    c.first_buffer = UINT32_MAX - 35000;
    c.faults[0].loss_permille = c.faults[1].loss_permille = 20;
    c.faults[0].jitter_us = c.faults[1].jitter_us = 2000;
    pair_run(&c, &result);
    CHECK(result.sender.data_packets_sent >= 70000); /* with a GO and an OK for each */
}

/* ---- one buffer beyond 2^31 bytes ------------------------------------------------------------------------------ */

/* Memory of any size in a small file, mapped again and again: what is written `period` bytes on is the same byte. The
 * period does not divide a power of two, so that an offset that lost its upper bits finds other bytes. */
#define PERIOD_BYTES ((size_t)1028 * 4096)

static uint8_t *map_repeatedly(size_t bytes)
{
    int file = memfd_create("netblt-test", 0);
    CHECK(file >= 0 && ftruncate(file, PERIOD_BYTES) == 0);
    uint8_t *base = mmap(NULL, bytes + PERIOD_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    CHECK(base != MAP_FAILED);
    for (size_t at = 0; at < bytes; at += PERIOD_BYTES)
        CHECK(mmap(base + at, PERIOD_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0) == base + at);
    close(file);
    return base;
}

struct huge {
    uint8_t *memory;
    uint32_t length;
    bool done;
    uint64_t delivered;
};

static enum netblt_send_buffer supply_huge(void *context, netblt_connection *connection, uint64_t index,
                                           uint32_t capacity, const uint8_t **data, uint32_t *length, bool *last)
{
    (void)connection, (void)index, (void)capacity;
    struct huge *huge = context;
    *data = huge->memory;
    *length = huge->length;
    *last = true;
    return NETBLT_SEND_BUFFER_READY;
}

static uint8_t *provide_huge(void *context, netblt_connection *connection, uint64_t index, uint32_t capacity)
{
    (void)connection, (void)capacity;
    return index == 0 ? ((struct huge *)context)->memory : NULL;
}

static void deliver_huge(void *context, netblt_connection *connection, uint64_t index, uint8_t *data, uint32_t length,
                         bool last)
{
    (void)connection, (void)index, (void)data, (void)last;
    ((struct huge *)context)->delivered += length;
}

static void finished_huge(void *context, netblt_connection *connection, const netblt_outcome *outcome)
{
    (void)connection;
    ((struct huge *)context)->done = outcome->result == NETBLT_DONE;
}

static const netblt_client huge_client = {.size = sizeof(netblt_client),
                                          .get_send_buffer = supply_huge,
                                          .get_receive_buffer = provide_huge,
                                          .deliver = deliver_huge,
                                          .finished = finished_huge};

static void accept_huge(void *context, const netblt_request *request, netblt_answer *answer)
{
    (void)request;
    answer->accept = true;
    answer->client = &huge_client;
    answer->context = context;
}

static netblt_path path_between(uint8_t local, uint8_t foreign)
{
    return (netblt_path){.local = {1, {local}}, .foreign = {1, {foreign}}};
}

/* Carries all packets that either end has ready now. */
static void exchange(netblt_endpoint *a, netblt_endpoint *b, netblt_time now)
{
    static uint8_t packets[NETBLT_PACKET_MAX_BYTES + 1];
    netblt_endpoint *ends[2] = {a, b};
    netblt_output output;
    for (bool any = true; any;) {
        any = false;
        for (uint8_t from = 0; from < 2; from++) {
            netblt_path path = path_between((uint8_t)(2 - from), (uint8_t)(1 + from));
            while (netblt_output_burst(ends[from], packets, sizeof packets, &output, now) > 0) {
                netblt_input(ends[1 - from], &path, packets, output.length, output.segment_bytes, now);
                any = true;
            }
        }
    }
}

static void DATA_14_offsets_reach_beyond_2_to_the_31(void)
{
    struct huge sender = {.length = 2200000001u}, receiver = {0};
    netblt_config config;
    netblt_connection *connection;
    netblt_params params;
    sender.memory = map_repeatedly(sender.length);
    receiver.memory = map_repeatedly(sender.length);
    for (size_t i = 0; i < PERIOD_BYTES; i++)
        sender.memory[i] = (uint8_t)(i * 31 + i / 257);
    netblt_config_default(&config);
    netblt_endpoint *a = netblt_endpoint_new(&config), *b = netblt_endpoint_new(&config);
    netblt_params_default(&params);
    params.packet_size = 65508;
    params.buffer_size = sender.length;
    params.burst_interval_ms = 0;
    params.data_checksum = false;
    netblt_path path = path_between(1, 2);
    CHECK_EQUAL(netblt_listen(b, 1, accept_huge, &receiver), 0);
    CHECK_EQUAL(netblt_open(a,
                            &(netblt_open_args){.size = sizeof(netblt_open_args),
                                                .path = &path,
                                                .local_port = 5,
                                                .foreign_port = 1,
                                                .role = NETBLT_SENDER,
                                                .unique_id = 1,
                                                .params = &params,
                                                .client = &huge_client,
                                                .context = &sender},
                            1000, &connection),
                0);
    exchange(a, b, 1000);
    CHECK(sender.done && receiver.done);
    CHECK_EQUAL(receiver.delivered, sender.length);
    CHECK(memcmp(sender.memory, receiver.memory, PERIOD_BYTES) == 0);
    netblt_endpoint_free(a);
    netblt_endpoint_free(b);
    munmap(sender.memory, sender.length + PERIOD_BYTES);
    munmap(receiver.memory, sender.length + PERIOD_BYTES);
}

/* ---- many connections ------------------------------------------------------------------------------------------ */

static void DEMUX_02_a_thousand_connections_share_an_endpoint_and_a_port(void)
{
    enum { COUNT = 1000, BUFFER = 3000 };
    static struct huge senders[COUNT], receivers[COUNT];
    netblt_config config;
    netblt_params params;
    netblt_config_default(&config);
    netblt_endpoint *a = netblt_endpoint_new(&config), *b = netblt_endpoint_new(&config);
    netblt_params_default(&params);
    params.buffer_size = BUFFER;
    params.packet_size = 500;
    params.burst_size = 2;
    params.burst_interval_ms = 20;
    netblt_path path = path_between(1, 2);
    netblt_time now = 1000;
    for (int i = 0; i < COUNT; i++) {
        netblt_connection *connection;
        senders[i] = (struct huge){.memory = malloc(BUFFER), .length = (uint32_t)(1 + i * 3)};
        receivers[i] = (struct huge){.memory = malloc(BUFFER)};
        memset(senders[i].memory, i % 251, BUFFER);
        /* The listener learns which receiver is meant by being set up for it. */
        netblt_unlisten(b, 1);
        CHECK_EQUAL(netblt_listen(b, 1, accept_huge, &receivers[i]), 0);
        CHECK_EQUAL(netblt_open(a,
                                &(netblt_open_args){.size = sizeof(netblt_open_args),
                                                    .path = &path,
                                                    .local_port = (uint16_t)(1000 + i),
                                                    .foreign_port = 1,
                                                    .role = NETBLT_SENDER,
                                                    .unique_id = (uint32_t)i,
                                                    .params = &params,
                                                    .client = &huge_client,
                                                    .context = &senders[i]},
                                now, &connection),
                    0);
        exchange(a, b, now);
    }
    while (netblt_deadline(a) != NETBLT_TIME_NEVER || netblt_deadline(b) != NETBLT_TIME_NEVER) {
        netblt_time next = netblt_deadline(a) < netblt_deadline(b) ? netblt_deadline(a) : netblt_deadline(b);
        now = next > now ? next : now;
        netblt_timeout(a, now);
        netblt_timeout(b, now);
        exchange(a, b, now);
    }
    for (int i = 0; i < COUNT; i++) {
        CHECK(senders[i].done && receivers[i].done);
        CHECK_EQUAL(receivers[i].delivered, senders[i].length);
        CHECK(memcmp(senders[i].memory, receivers[i].memory, senders[i].length) == 0);
        free(senders[i].memory);
        free(receivers[i].memory);
    }
    netblt_endpoint_free(a);
    netblt_endpoint_free(b);
}

/* Packet numbers have 16 bits: 65536 packets can be named, one more cannot. */
static void NEG_10_a_RESPONSE_whose_buffers_have_more_packets_than_numbers_is_answered_by_ABORT(void)
{
    for (uint32_t packets = 65536; packets <= 65537; packets++) {
        struct peer peer;
        struct forged response;
        peer_init(&peer, NETBLT_RECEIVER, true);
        peer.params.packet_size = 2;
        peer.params.buffer_size = 65537;
        peer_start(&peer);
        netblt_params smaller = peer.params; /* only the packets: each value by itself is a restriction */
        smaller.packet_size = 1;
        smaller.buffer_size = packets;
        forge_open(&peer, &response, RESPONSE, &smaller, false);
        peer_send(&peer, &response);
        CHECK_EQUAL(peer.opened, packets == 65536);
        CHECK_EQUAL(peer_count(&peer, ABORT), packets != 65536);
        peer_free(&peer);
    }
}

int main(void)
{
    RUN(NEG_11_a_buffer_may_have_65535_packets);
    RUN(AMB_12_a_transfer_outlives_the_wrap_of_its_control_sequence);
    RUN(DATA_14_offsets_reach_beyond_2_to_the_31);
    RUN(DEMUX_02_a_thousand_connections_share_an_endpoint_and_a_port);
    RUN(NEG_10_a_RESPONSE_whose_buffers_have_more_packets_than_numbers_is_answered_by_ABORT);
    return 0;
}
