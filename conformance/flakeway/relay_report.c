/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The statistics that the program flakeway prints. */
#include <inttypes.h>
#include <time.h>

#include "relay.h"

#define COLUMNS 10
#define NS_PER_US 1000u

static uint64_t column(const flakeway_stats *stats, unsigned i)
{
    const uint64_t values[COLUMNS] = {
        stats->seen,       stats->delivered, stats->dropped_by_rule, stats->dropped_by_loss, stats->dropped_by_queue,
        stats->duplicated, stats->reordered, stats->delayed,         stats->corrupted,       stats->truncated};
    return values[i];
}

static double seconds_since_start(const relay *r)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9 - (double)r->start_ns / 1e9;
}

static void print_text(const relay *r)
{
    static const char *const ways[] = {"left > right", "right > left"};
    printf("flakeway: seed %" PRIu64 ", %.3f s, %" PRIu64 " NETBLT packets\n", flakeway_seed(r->engine),
           seconds_since_start(r), r->netblt_packets);
    printf("%-12s %9s %9s %9s %9s %9s %9s %9s %9s %9s %9s\n", "", "seen", "delivered", "by rule", "by loss", "by queue",
           "dupl.", "reordered", "delayed", "corrupted", "truncated");
    for (unsigned direction = 0; direction < FLAKEWAY_DIRECTIONS; direction++) {
        const flakeway_stats *stats = flakeway_get_stats(r->engine, (enum flakeway_direction)direction);
        printf("%-12s", ways[direction]);
        for (unsigned i = 0; i < COLUMNS; i++)
            printf(" %9" PRIu64, column(stats, i));
        putchar('\n');
    }
    printf("other frames passed untouched: %" PRIu64 " left > right, %" PRIu64 " right > left\n", r->other_frames[0],
           r->other_frames[1]);
    if (flakeway_queued(r->engine))
        printf("not delivered yet: %zu packets were still delayed or held\n", flakeway_queued(r->engine));
    for (unsigned side = 0; side < 2; side++) {
        const relay_socket *s = &r->sockets[side];
        if (s->kernel_drops || s->send_failures) {
            printf("%s: the kernel dropped %" PRIu64 " incoming frames (the relay was too slow); %" PRIu64
                   " frames could not be sent, %" PRIu64 " of them too long\n",
                   s->name, s->kernel_drops, s->send_failures, s->too_long);
        }
    }
}

static void print_json_way(const relay *r, unsigned direction)
{
    static const char *const names[COLUMNS] = {
        "seen",       "delivered", "dropped_by_rule", "dropped_by_loss", "dropped_by_queue",
        "duplicated", "reordered", "delayed",         "corrupted",       "truncated"};
    const flakeway_stats *stats = flakeway_get_stats(r->engine, (enum flakeway_direction)direction);
    printf("\"%s\": {\"dropped\": %" PRIu64, direction == FLAKEWAY_A_TO_B ? "a_to_b" : "b_to_a",
           stats->dropped_by_rule + stats->dropped_by_loss + stats->dropped_by_queue);
    for (unsigned i = 0; i < COLUMNS; i++)
        printf(", \"%s\": %" PRIu64, names[i], column(stats, i));
    printf(", \"other_frames\": %" PRIu64 ", \"kernel_drops\": %" PRIu64 ", \"longest_wait_us\": %" PRIu64
           ", \"send_failures\": %" PRIu64 "}",
           r->other_frames[direction], r->sockets[direction].kernel_drops,
           r->sockets[direction].longest_wait_ns / NS_PER_US, r->sockets[1 - direction].send_failures);
}

static void print_json(const relay *r)
{
    printf("{\"seed\": %" PRIu64 ", \"seconds\": %.6f, \"packets\": %" PRIu64 ", \"queued\": %zu, ",
           flakeway_seed(r->engine), seconds_since_start(r), r->netblt_packets, flakeway_queued(r->engine));
    print_json_way(r, FLAKEWAY_A_TO_B);
    printf(", ");
    print_json_way(r, FLAKEWAY_B_TO_A);
    printf("}\n");
}

void relay_report(const relay *r)
{
    if (r->options->json)
        print_json(r);
    else
        print_text(r);
    fflush(stdout);
}
