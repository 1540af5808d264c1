/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"
#include "pair.h"
#include "random.h"

#include <string.h>

/* Random transfers over a random network: whatever the roles, sizes and faults, every one ends well. pair_run() states
 * what that means. `random_transfers_test [first seed] [count]`. */

#define DEFAULT_TRANSFERS 400

static uint32_t random_buffer_size(struct random *random, uint16_t packet_size)
{
    uint32_t packets = 1 + (uint32_t)random_below(random, 40);
    switch (random_below(random, 6)) {
    case 0:
        return 1 + (uint32_t)random_below(random, 3);
    case 1:
        return packet_size; /* one packet each */
    case 2:
        return packets * packet_size;
    case 3:
        return packets * packet_size + 1;
    case 4:
        return packets * packet_size - (packet_size > 1 ? 1 : 0);
    default:
        return 1 + (uint32_t)random_below(random, packets * packet_size);
    }
}

static uint64_t random_size(struct random *random, uint32_t buffer_size)
{
    uint64_t buffers = random_below(random, 14);
    switch (random_below(random, 6)) {
    case 0:
        return 0;
    case 1:
        return 1;
    case 2:
        return buffers * buffer_size;
    case 3:
        return buffers * buffer_size + 1;
    default:
        return random_below(random, (buffers + 1) * (uint64_t)buffer_size + 1);
    }
}

static void randomize_params(struct random *random, netblt_params *params)
{
    netblt_params_default(params);
    params->packet_size = (uint16_t)(1 + random_below(random, random_chance(random, 300) ? 8 : 1456));
    params->buffer_size = random_buffer_size(random, params->packet_size);
    params->burst_size = (uint16_t)(1 + random_below(random, 12));
    params->burst_interval_ms = (uint16_t)random_below(random, random_chance(random, 200) ? 1 : 30);
    params->max_buffers = (uint16_t)(1 + random_below(random, random_chance(random, 200) ? 40 : 5));
    params->data_checksum = random_chance(random, 500);
    params->death_timer_s = (uint16_t)(300 + random_below(random, 60));
}

static void randomize_faults(struct random *random, struct pair_faults *faults)
{
    static const unsigned losses[] = {0, 0, 10, 50, 200, 300};
    faults->loss_permille = losses[random_below(random, 6)];
    faults->duplicate_permille = random_chance(random, 300) ? 100 : 0;
    faults->delay_us = random_below(random, random_chance(random, 200) ? 600000 : 20000);
    faults->jitter_us = random_chance(random, 500) ? random_below(random, 40000) : 0;
}

static void randomize(struct pair_case *c, uint64_t seed)
{
    struct random random = {seed * 7919 + 1};
    pair_case_default(c);
    c->seed = seed;
    c->active_sends = random_chance(&random, 500);
    randomize_params(&random, &c->active);
    c->passive = c->active;
    if (random_chance(&random, 500))
        randomize_params(&random, &c->passive);
    uint32_t buffer_size =
        c->active.buffer_size < c->passive.buffer_size ? c->active.buffer_size : c->passive.buffer_size;
    c->size = random_size(&random, buffer_size);
    c->end_is_late = random_chance(&random, 300);
    c->any_order = random_chance(&random, 300);
    c->client_buffers = random_chance(&random, 300) ? 1 + (unsigned)random_below(&random, 4) : 0;
    c->stall_permille = random_chance(&random, 300) ? 200 : 0;
    c->first_buffer = random_chance(&random, 300) ? UINT32_MAX - 3 : (uint32_t)random_below(&random, 3);
    randomize_faults(&random, &c->faults[0]);
    randomize_faults(&random, &c->faults[1]);
    if (c->active.data_checksum && random_chance(&random, 300))
        c->faults[0].corrupt_permille = c->faults[1].corrupt_permille = 30;
}

int main(int argc, char **argv)
{
    uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    uint64_t count = argc > 2 ? strtoull(argv[2], NULL, 10) : DEFAULT_TRANSFERS;
    for (uint64_t seed = first; seed < first + count; seed++) {
        struct pair_case c;
        struct pair_result result;
        randomize(&c, seed);
        pair_run(&c, &result);
        if (argc > 1)
            printf(
                "seed %llu: %llu bytes, buffer %u, packet %u, N %u, sent %llu (%llu again), timeouts %llu, %llu ms\n",
                (unsigned long long)seed, (unsigned long long)c.size, result.negotiated.buffer_size,
                result.negotiated.packet_size, result.negotiated.max_buffers,
                (unsigned long long)result.sender.data_packets_sent,
                (unsigned long long)result.sender.data_packets_retransmitted,
                (unsigned long long)result.receiver.data_timeouts, (unsigned long long)result.ended_at / 1000);
    }
    printf("ok %llu random transfers, seeds %llu and up\n", (unsigned long long)count, (unsigned long long)first);
    return 0;
}
