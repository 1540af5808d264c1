/* SPDX-License-Identifier: BSD-2-Clause */
/* netblt-paths --whole: completion times of whole transfers over a table of paths. */
#include "paths_whole.h"

#include "cli/transfer/path_sizes.h"
#include "path_sim.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The table is every combination of these. */
static const double rates_mbit[] = {1, 10, 100, 1000};
static const double round_trips_ms[] = {20, 100, 600};
static const double losses_percent[] = {0, 1, 5};
static const uint64_t sizes[] = {100000, 1000000, 10000000, 100000000};
#define COUNT(array) (sizeof(array) / sizeof *(array))

#define QUEUE_MS 100
#define SEEDS_MAX 1000

/* What is asked: times the least, from so many bytes on, up to so much loss. */
#define ASKED_FROM_BYTES 10000000
#define ASKED_FROM_MBIT 10
#define ASKED_RATIO 1.25
#define ASKED_RATIO_LOSS 1.4
#define ASKED_LOSS_MOST 0.01
/* So long the receiver waits for what the network may have reordered. */
#define REORDERING_S 0.02
/* Share of packets that may arrive twice. */
#define SPURIOUS_MOST 0.001
/* Buffers of 256 KiB that fill what the path holds: with more, GOs, OKs and RESENDs do not fit one CONTROL (AMB-33),
 * and the command needs --path to choose larger ones. */
#define BUFFERS_A_ROUND_TRIP_MAX 40

struct whole_row {
    char name[40];
    double mbit, round_trip_s, loss;
    uint64_t bytes;
};

/* Of the runs of a row, one value each. */
struct whole_runs {
    double seconds[SEEDS_MAX], tails[SEEDS_MAX];
    double twice, received, drops, offered;
    unsigned count;
};

/* ---- what is physically possible ------------------------------------------------------------------------------- */

static double packets_of(const struct whole_row *row)
{
    return ceil((double)row->bytes / PATH_PACKET_BYTES);
}

static double packets_per_s(const struct whole_row *row)
{
    return row->mbit * 1e6 / 8 / PATH_WIRE_BYTES;
}

/* The probability that all packets have arrived `after_s` seconds after the last first transmission has. A packet that
 * was lost can be there one round trip later, or two when that was lost too. Packets that are sent `d` seconds before
 * the last one have that much more time. */
static double all_there(const struct whole_row *row, double after_s)
{
    double rounds = floor(after_s / row->round_trip_s);
    double group = (rounds + 1) * row->round_trip_s - after_s; /* seconds of packets that have so many rounds */
    double all = 1, left = packets_of(row), lost = pow(row->loss, rounds + 1);
    while (left > 0 && lost * left > 1e-9) {
        double packets = fmin(left, group * packets_per_s(row));
        all *= pow(1 - lost, packets);
        left -= packets;
        lost *= row->loss;
        group = row->round_trip_s;
    }
    return all;
}

#define STEPS_PER_ROUND_TRIP 50
/* Expected seconds from the arrival of the last first transmission, or its place, until all are there. */
static double least_repair_s(const struct whole_row *row)
{
    double sum = 0, step = row->round_trip_s / STEPS_PER_ROUND_TRIP;
    if (row->loss == 0)
        return 0;
    for (unsigned i = 0;; i++) {
        double missing = 1 - all_there(row, (i + 0.5) * step);
        if (missing < 1e-6)
            return sum;
        sum += missing * step;
    }
}

/* Handshake, every packet at the link's rate and the lost ones again, one way, the last retransmissions, the
 * confirmation. The retransmissions that are sent before the last first transmission take time on the link, too. */
static double least_s(const struct whole_row *row)
{
    double serialisation = packets_of(row) / packets_per_s(row) / (1 - row->loss);
    return row->round_trip_s + serialisation + least_repair_s(row) + row->round_trip_s;
}

static double least_tail(const struct whole_row *row)
{
    return 0.5 + least_repair_s(row) / row->round_trip_s;
}

/* ---- runs ------------------------------------------------------------------------------------------------------ */

/* As `netblt send --rate auto` proposes without --path. */
static void propose(const struct whole_row *row, const struct whole_choice *choice, netblt_params *params)
{
    known_path known = {.bits_per_second = row->mbit * 1e4 * choice->known_percent, .round_trip_s = row->round_trip_s};
    path_buffers buffers = path_sizes_buffers(&path_sizes_assumed, PATH_PACKET_BYTES);
    path_bursts bursts = path_sizes_first_bursts;
    path_sizes_suit_transfer(&buffers, row->bytes, PATH_PACKET_BYTES);
    if (choice->known_percent > 0) {
        buffers = path_sizes_known_buffers(&known, row->bytes, PATH_PACKET_BYTES);
        bursts =
            path_sizes_known_bursts(&known, choice->receiver_opens ? NETBLT_RECEIVER : NETBLT_SENDER, PATH_WIRE_BYTES);
    }
    netblt_params_default(params);
    params->packet_size = PATH_PACKET_BYTES;
    params->buffer_size = buffers.buffer_size;
    params->max_buffers = buffers.max_buffers;
    params->burst_size = bursts.size;
    params->burst_interval_ms = bursts.interval_ms;
    params->transfer_size = row->bytes;
    params->data_checksum = false; /* of no interest here, and it costs time */
}

static void run_once(const struct whole_row *row, const struct whole_choice *choice, uint64_t seed,
                     struct whole_runs *runs)
{
    struct path_run run = {.seed = seed,
                           .seconds = 30 + 20 * least_s(row),
                           .path = {.mbit = row->mbit,
                                    .rtt_ms = 1000 * row->round_trip_s,
                                    .loss_percent = 100 * row->loss,
                                    .queue_ms = QUEUE_MS},
                           .hosts = {.wake_us = choice->wake_us},
                           .flow_count = 1,
                           .trace = choice->trace};
    struct path_result result;
    run.flows[0] = (struct flow){.sender_rate = NETBLT_RATE_AUTO,
                                 .receiver_rate = NETBLT_RATE_AUTO,
                                 .receiver_opens = choice->receiver_opens,
                                 .rate_is_known = choice->known_percent > 0,
                                 .bytes = row->bytes};
    propose(row, choice, &run.flows[0].params);
    path_run(&run, &result);
    const struct flow_result *flow = &result.flows[0];
    bool done = flow->sender_seconds > 0 && flow->seconds > 0;
    runs->seconds[runs->count] = done ? flow->sender_seconds : INFINITY;
    runs->tails[runs->count] =
        done ? (flow->received_seconds - flow->first_sent_seconds) / row->round_trip_s : INFINITY;
    runs->count++;
    runs->twice += (double)flow->receiver.stats.data_packets_duplicate;
    runs->received += (double)flow->receiver.stats.data_packets_received;
    runs->drops += (double)result.whole_drops;
    runs->offered += (double)result.whole_offered;
}

static int compare(const void *one, const void *other)
{
    double a = *(const double *)one, b = *(const double *)other;
    return (a > b) - (a < b);
}

static double median(double *values, unsigned count)
{
    qsort(values, count, sizeof *values, compare);
    return count % 2 == 1 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

/* 0 = nothing is asked of the row. */
static double asked_ratio(const struct whole_row *row)
{
    double product = row->mbit * 1e6 / 8 * row->round_trip_s;
    if (row->bytes < ASKED_FROM_BYTES || row->mbit < ASKED_FROM_MBIT || row->loss > ASKED_LOSS_MOST ||
        product > BUFFERS_A_ROUND_TRIP_MAX * path_sizes_buffers(&path_sizes_assumed, PATH_PACKET_BYTES).buffer_size)
        return 0;
    return row->loss == 0 ? ASKED_RATIO : ASKED_RATIO_LOSS;
}

/* Until the first OK nothing is known of the rate, and the peer's address may have to be validated: a round trip in
 * which little more than the first buffer arrives. */
static double most_s(const struct whole_row *row)
{
    return asked_ratio(row) * (least_s(row) + row->round_trip_s + (row->loss > 0 ? REORDERING_S : 0));
}

static const char *remark(const struct whole_row *row, double seconds, double spurious)
{
    if (row->mbit >= ASKED_FROM_MBIT && spurious > SPURIOUS_MOST)
        return "SPURIOUS";
    if (asked_ratio(row) == 0)
        return "";
    return seconds > most_s(row) ? "ABOVE" : seconds > asked_ratio(row) * least_s(row) ? "start" : "";
}

/* Returns whether the row met its bounds. */
static bool run_row(const struct whole_row *row, const struct whole_choice *choice)
{
    static struct whole_runs runs;
    runs = (struct whole_runs){0};
    for (uint64_t seed = choice->seed; seed < choice->seed + choice->seeds; seed++)
        run_once(row, choice, seed, &runs);
    double least = least_s(row), seconds = median(runs.seconds, runs.count), spurious = runs.twice / runs.received;
    const char *what = remark(row, seconds, spurious);
    char asked[16] = "-";
    if (asked_ratio(row) > 0)
        snprintf(asked, sizeof asked, "%.2f", asked_ratio(row));
    printf("%-22s %9.3f %9.3f %6.3f %6s  %6.2f %6.2f  %7.3f%% %8.3f%%  %s\n", row->name, seconds, least,
           seconds / least, asked, median(runs.tails, runs.count), least_tail(row), 100 * spurious,
           100 * runs.drops / runs.offered, what);
    fflush(stdout);
    return strcmp(what, "ABOVE") != 0 && strcmp(what, "SPURIOUS") != 0;
}

static bool is_wanted(const char *name, const struct whole_choice *choice)
{
    for (int i = 0; i < choice->count; i++)
        if (strncmp(name, choice->words[i], strlen(choice->words[i])) == 0)
            return true;
    return choice->count == 0;
}

/* The row with this number; the sizes of a path follow each other. */
static void make_row(size_t number, struct whole_row *row)
{
    *row = (struct whole_row){.bytes = sizes[number % COUNT(sizes)]};
    number /= COUNT(sizes);
    row->loss = losses_percent[number % COUNT(losses_percent)] / 100;
    number /= COUNT(losses_percent);
    row->round_trip_s = round_trips_ms[number % COUNT(round_trips_ms)] / 1000;
    row->mbit = rates_mbit[number / COUNT(round_trips_ms)];
    snprintf(row->name, sizeof row->name, "%.0fM-%.0fms-%.0f-%gMB", row->mbit, 1000 * row->round_trip_s,
             100 * row->loss, (double)row->bytes / 1e6);
}

int paths_whole(const struct whole_choice *choice)
{
    size_t rows = COUNT(sizes) * COUNT(losses_percent) * COUNT(round_trips_ms) * COUNT(rates_mbit);
    bool any = false, met = true;
    printf("%-22s %9s %9s %6s %6s  %6s %6s  %8s %9s\n", "whole transfer", "seconds", "least", "ratio", "asked", "tail",
           "least", "spurious", "drops");
    for (size_t i = 0; i < rows; i++) {
        struct whole_row row;
        make_row(i, &row);
        if (!is_wanted(row.name, choice))
            continue;
        any = true;
        met &= run_row(&row, choice);
    }
    if (!any)
        fprintf(stderr, "netblt-paths: no row of --whole has such a name\n");
    return any ? (met ? 0 : 1) : 2;
}
