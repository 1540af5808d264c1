/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests of random transfers over a random network: whatever the roles, sizes and faults, every one ends well.
 * pair_run() states what that means. `random_transfers_test [own|flakeway] [first seed [count]]`: over the network of
 * pair.c, or over the suite's. */
#include "check.h"
#include "pair.h"
#include "random.h"

#include <string.h>

#define DEFAULT_TRANSFERS 500

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
    static const unsigned losses[] = {0, 0, 10, 50, 100, 200};
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
    c->secretless = random_chance(&random, 300);
    c->first_buffer = random_chance(&random, 300) ? UINT32_MAX - 3 : (uint32_t)random_below(&random, 3);
    randomize_faults(&random, &c->faults[0]);
    randomize_faults(&random, &c->faults[1]);
    c->auto_rate = random_chance(&random, 300);
    c->confirm_end = seed % 3 == 0;
    c->confirm_after_us = seed % 9 == 0 ? 0 : seed % 9 == 3 ? 20000 : 90000000;
    if (c->active.data_checksum && random_chance(&random, 500)) {
        /* Not both: two faults in one packet can cancel in the sum, which undetected_test shows. */
        bool bursts = random_chance(&random, 500);
        for (int from = 0; from < 2; from++)
            *(bursts ? &c->faults[from].burst_permille : &c->faults[from].corrupt_permille) = 50;
    }
}

static void print(uint64_t seed, const struct pair_case *c, const struct pair_result *result)
{
    printf("seed %llu: %llu bytes, buffer %u, packet %u, N %u, sent %llu (%llu again), timeouts %llu, %llu ms\n",
           (unsigned long long)seed, (unsigned long long)c->size, result->negotiated.buffer_size,
           result->negotiated.packet_size, result->negotiated.max_buffers,
           (unsigned long long)result->sender.data_packets_sent,
           (unsigned long long)result->sender.data_packets_retransmitted,
           (unsigned long long)result->receiver.data_timeouts, (unsigned long long)result->ended_at / 1000);
}

static int usage(void)
{
    fprintf(stderr, "usage: random_transfers_test [own|flakeway] [first seed [count]]\n");
    return 2;
}

int main(int argc, char **argv)
{
    bool flakeway = argc > 1 && strcmp(argv[1], "flakeway") == 0;
    bool numbers_only = argc > 1 && argv[1][0] >= '0' && argv[1][0] <= '9'; /* FIRST COUNT */
    if (argc > 1 && !flakeway && !numbers_only && strcmp(argv[1], "own") != 0)
        return usage();
    if (flakeway && !pair_has_flakeway())
        return usage();
    int at = numbers_only ? 1 : 2;
    uint64_t first = argc > at ? strtoull(argv[at], NULL, 10) : 1;
    uint64_t count = argc > at + 1 ? strtoull(argv[at + 1], NULL, 10) : DEFAULT_TRANSFERS;
    uint64_t again = 0, faults = 0;
    for (uint64_t seed = first; seed < first + count; seed++) {
        struct pair_case c;
        struct pair_result result;
        randomize(&c, seed);
        c.flakeway = flakeway;
        pair_run(&c, &result);
        again += result.sender.data_packets_retransmitted;
        faults += result.sender.checksum_errors + result.receiver.checksum_errors;
        if (count == 1)
            print(seed, &c, &result);
    }
    printf("ok %llu random transfers, seeds %llu and up: %llu packets sent again, %llu checksums wrong\n",
           (unsigned long long)count, (unsigned long long)first, (unsigned long long)again, (unsigned long long)faults);
    return 0;
}
