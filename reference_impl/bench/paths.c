/* SPDX-License-Identifier: BSD-2-Clause */
/* netblt-paths: runs the core over the table of bad paths. */
#include "cli/transfer/path_sizes.h"
#include "path_sim.h"
#include "paths_whole.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* netblt-paths: what the protocol core makes of bad paths, in virtual time, with fixed and with automatic rate. */

#define PACKET_BYTES PATH_PACKET_BYTES
#define WIRE_BYTES PATH_WIRE_BYTES
#define MEBI (UINT64_C(1) << 20)
#define LATE_MAX_US 100000
#define SEEDS_MAX 1000
/* Transfers of KIND_START are so short that all of them is start, and so many that what goes wrong with one in ten
 * shows. */
#define START_BYTES 1000000
#define START_TRANSFERS 40
/* No more may overflow the queue than rate control itself takes for chance (NB_RATE_LOSS_MARGIN). */
#define START_DROPS_MOST .02

enum kind {
    KIND_SHARE,    /* share of attainable in the second half */
    KIND_WHOLE,    /* seconds of a whole transfer */
    KIND_FAIRNESS, /* several flows: the least's share of the greatest; asked of every seed */
    KIND_CROSS,    /* cross traffic: its share of what it offered */
    KIND_BESIDE,   /* a fixed flow of half the link and an automatic one: the less of what each has of its half */
    KIND_START,    /* many transfers of START_BYTES: the share of packets that the queue drops */
};

struct row {
    const char *name;
    enum kind kind;
    double seconds;
    struct path path;
    struct hosts hosts;
    double fixed_goal; /* 0 = no such run */
    double auto_goal;
    double spurious_most;                   /* share of packets that came twice; 0 = any */
    uint16_t burst_size, burst_interval_ms; /* of the fixed run; 0 = the link's rate */
    uint16_t packet_size;                   /* 0 = PACKET_BYTES */
    uint32_t buffer_size;                   /* 0 = by the path */
    uint16_t max_buffers;
    unsigned flows; /* KIND_FAIRNESS; 0 = two */
};

/* The table of bad paths: a drop-tail queue of 100 ms, loss both ways. */
#define BAD(rate, rtt, loss) .path = {.mbit = (rate), .rtt_ms = (rtt), .loss_percent = (loss), .queue_ms = 100}
/* The same share of packets lost, in runs. */
#define RUNS(rate, rtt, loss, packets)                                                                                 \
    .path = {.mbit = (rate), .rtt_ms = (rtt), .loss_percent = (loss), .loss_run_packets = (packets), .queue_ms = 100}
#define GOALS(fixed, automatic) .fixed_goal = (fixed), .auto_goal = (automatic)
/* RFC 1030's satellite: the pair is the limit, not the link. */
#define WIDEBAND                                                                                                       \
    .burst_size = 5, .burst_interval_ms = 55, .packet_size = 1432, .buffer_size = 14320, .max_buffers = 30,            \
    .seconds = 2400
#define FAST_HOST .poll_us = 100, .socket_packets = 4000, .late_us = 60

static const struct row rows[] = {
    {.name = "100M-100ms-0", .seconds = 60, BAD(100, 100, 0), GOALS(.99, .95)},
    {.name = "100M-100ms-0.1", .seconds = 60, BAD(100, 100, 0.1), GOALS(.99, .95)},
    {.name = "100M-100ms-1", .seconds = 60, BAD(100, 100, 1), GOALS(.98, .95)},
    {.name = "100M-100ms-5", .seconds = 60, BAD(100, 100, 5), GOALS(.97, .93)},
    {.name = "100M-600ms-1", .seconds = 60, BAD(100, 600, 1), GOALS(.97, .93)},
    {.name = "10M-1800ms-1", .seconds = 120, BAD(10, 1800, 1), GOALS(.97, .92)},
    {.name = "100M-100ms-reorder",
     .seconds = 60,
     .path = {.mbit = 100, .rtt_ms = 100, .reorder_percent = 1, .reorder_ms = 5, .queue_ms = 100},
     .spurious_most = .001,
     GOALS(.99, .95)},
    {.name = "100M-100ms-1-runs", .seconds = 60, RUNS(100, 100, 1, 20), GOALS(.97, .90)},
    {.name = "100M-600ms-1-runs", .seconds = 60, RUNS(100, 600, 1, 20), GOALS(.96, .90)},
    {.name = "wideband-0.5", WIDEBAND, BAD(3, 1800, 0.5), GOALS(.99, 0)},
    {.name = "wideband-2.6", WIDEBAND, BAD(3, 1800, 2.6), GOALS(.965, 0)},
    {.name = "wideband-5", WIDEBAND, BAD(3, 1800, 5), GOALS(.94, 0)},
    {.name = "whole-100MB-600ms-1", .kind = KIND_WHOLE, .seconds = 120, BAD(100, 600, 1), GOALS(10.7, 13)},
    {.name = "whole-100MB-10ms", .kind = KIND_WHOLE, .seconds = 60, BAD(100, 10, 0), GOALS(0, 8.9)},
    {.name = "start-5M-5ms-5", .kind = KIND_START, .seconds = 60, BAD(5, 5, 5), GOALS(0, START_DROPS_MOST)},
    {.name = "start-5M-50ms-0", .kind = KIND_START, .seconds = 60, BAD(5, 50, 0), GOALS(0, START_DROPS_MOST)},
    {.name = "start-10M-20ms-5", .kind = KIND_START, .seconds = 60, BAD(10, 20, 5), GOALS(0, START_DROPS_MOST)},
    {.name = "start-20M-5ms-5", .kind = KIND_START, .seconds = 60, BAD(20, 5, 5), GOALS(0, START_DROPS_MOST)},
    {.name = "10M-600ms-1", .seconds = 60, BAD(10, 600, 1), GOALS(.97, .93)},
    {.name = "deep-space", .seconds = 24000, BAD(1, 1200000, 0.1), GOALS(.9, .88)},
    {.name = "1M-100ms-1", .seconds = 60, BAD(1, 100, 1), GOALS(.97, .93)},
    {.name = "1G-100ms-0.1", .seconds = 20, BAD(1000, 100, 0.1), GOALS(.98, .95)},
    {.name = "1G-20ms-0.1", .seconds = 20, BAD(1000, 20, 0.1), GOALS(.98, .95)},
    {.name = "10G-lan",
     .seconds = 2,
     .path = {.mbit = 10000, .rtt_ms = 0.1, .queue_ms = 2},
     .hosts = {FAST_HOST},
     GOALS(0, .9)},
    {.name = "host-8G",
     .seconds = 2,
     .path = {.rtt_ms = 0.1},
     .hosts = {FAST_HOST, .packet_cost_us = 1.5},
     GOALS(0, .9)},
    {.name = "host-2G",
     .seconds = 4,
     .path = {.mbit = 10000, .rtt_ms = 1, .queue_ms = 5},
     .hosts = {FAST_HOST, .packet_cost_us = 6},
     GOALS(0, .9)},
    {.name = "step-100M-40M",
     .seconds = 60,
     .path = {.mbit = 100,
              .rtt_ms = 100,
              .loss_percent = 1,
              .queue_ms = 100,
              .change_at_s = 20,
              .change_mbit = 40,
              .change_rtt_ms = 100},
     GOALS(0, .93)},
    {.name = "step-40M-100M",
     .seconds = 60,
     .path = {.mbit = 40,
              .rtt_ms = 100,
              .loss_percent = 1,
              .queue_ms = 100,
              .change_at_s = 20,
              .change_mbit = 100,
              .change_rtt_ms = 100},
     GOALS(0, .93)},
    {.name = "step-50ms-120ms",
     .seconds = 60,
     .path = {.mbit = 100, .rtt_ms = 50, .queue_ms = 100, .change_at_s = 20, .change_mbit = 100, .change_rtt_ms = 120},
     GOALS(0, .93)},
    {.name = "step-10k-10M",
     .seconds = 600,
     .path =
         {.mbit = 0.01, .rtt_ms = 300, .queue_packets = 8, .change_at_s = 200, .change_mbit = 10, .change_rtt_ms = 100},
     GOALS(0, .9)},
    {.name = "outage-600ms",
     .seconds = 20,
     .path = {.mbit = 100, .rtt_ms = 100, .queue_ms = 100, .outage_at_s = 12, .outage_s = 0.6},
     GOALS(0, .9)},
    {.name = "small-queue", .seconds = 30, .path = {.mbit = 100, .rtt_ms = 40, .queue_packets = 16}, GOALS(0, .8)},
    {.name = "two-flows-100ms", .kind = KIND_FAIRNESS, .seconds = 120, BAD(100, 100, 0.1), GOALS(0, .8)},
    {.name = "two-flows-20ms", .kind = KIND_FAIRNESS, .seconds = 60, BAD(50, 20, 0), GOALS(0, .8)},
    {.name = "two-flows-600ms", .kind = KIND_FAIRNESS, .seconds = 300, BAD(10, 600, 1), GOALS(0, .8)},
    {.name = "three-flows-100ms", .kind = KIND_FAIRNESS, .flows = 3, .seconds = 120, BAD(100, 100, 0.1), GOALS(0, .5)},
    {.name = "four-flows-100ms", .kind = KIND_FAIRNESS, .flows = 4, .seconds = 120, BAD(100, 100, 0.1), GOALS(0, .5)},
    {.name = "beside-fixed-100ms", .kind = KIND_BESIDE, .seconds = 60, BAD(100, 100, 0.1), GOALS(0, .8)},
    {.name = "beside-fixed-20ms", .kind = KIND_BESIDE, .seconds = 60, BAD(50, 20, 0), GOALS(0, .8)},
    {.name = "beside-fixed-600ms", .kind = KIND_BESIDE, .seconds = 120, BAD(100, 600, 1), GOALS(0, .8)},
    {.name = "cross-half-100ms", .kind = KIND_CROSS, .seconds = 60, BAD(100, 100, 1), GOALS(0, .9)},
    {.name = "cross-half-20ms", .kind = KIND_CROSS, .seconds = 60, BAD(10, 20, 0), GOALS(0, .9)},
};
#define ROWS (sizeof rows / sizeof rows[0])

/* The rate that the path has in the second half. */
static double link_mbit(const struct row *row)
{
    double mbit = row->path.change_at_s > 0 ? row->path.change_mbit : row->path.mbit;
    if (row->hosts.packet_cost_us > 0) {
        double host = WIRE_BYTES * 8 / row->hosts.packet_cost_us;
        mbit = mbit == 0 || host < mbit ? host : mbit;
    }
    return mbit;
}

/* The pair whose rate comes closest to that without exceeding it. */
static void fixed_pair(double mbit, netblt_params *params)
{
    double packets_per_ms = mbit * 1000 / 8 / WIRE_BYTES, best = 0;
    for (unsigned ms = 1; ms <= 40; ms++) {
        double size = floor(packets_per_ms * ms + 1e-9);
        if (size >= 1 && size <= UINT16_MAX && size / ms > best + 1e-9) {
            best = size / ms;
            params->burst_size = (uint16_t)size;
            params->burst_interval_ms = (uint16_t)ms;
        }
    }
}

static double clamp(double value, double least, double most)
{
    return value < least ? least : value > most ? most : value;
}

/* Un-acked GOs and OKs must fit one CONTROL packet (AMB-33): about 60 buffers a round trip. */
#define BUFFERS_A_ROUND_TRIP_MAX 40

static uint32_t buffer_bytes(const struct row *row)
{
    double product = row->path.mbit * row->path.rtt_ms * 1000 / 8;
    double most = product / BUFFERS_A_ROUND_TRIP_MAX > 256 * 1024 ? product / BUFFERS_A_ROUND_TRIP_MAX : 256 * 1024;
    return (uint32_t)(clamp(product / 8, 64 * 1024, most) / PACKET_BYTES) * PACKET_BYTES;
}

/* What a program that knows the path proposes: buffers of an eighth of a bandwidth-delay product, 64 to 256 KiB, and
 * three products plus two buffers of them outstanding. */
static void fixed_params(const struct row *row, netblt_params *params)
{
    double product = row->path.mbit * row->path.rtt_ms * 1000 / 8;
    params->buffer_size = buffer_bytes(row);
    params->max_buffers = (uint16_t)(ceil(3 * product / params->buffer_size) + 2);
    if (row->packet_size != 0) {
        params->packet_size = row->packet_size;
        params->buffer_size = row->buffer_size;
        params->max_buffers = row->max_buffers;
        params->burst_size = row->burst_size;
        params->burst_interval_ms = row->burst_interval_ms;
        return;
    }
    fixed_pair(row->kind == KIND_BESIDE ? row->path.mbit / 2 : row->path.mbit, params);
}

/* Automatic rate: only the size of buffers is by the path. */
static void automatic_params(const struct row *row, netblt_params *params)
{
    params->buffer_size = buffer_bytes(row);
    params->max_buffers = 4096;
    params->burst_size = path_sizes_first_bursts.size;
    params->burst_interval_ms = path_sizes_first_bursts.interval_ms;
    bool slow = row->path.mbit > 0 && row->path.mbit < 0.1;
    if (row->path.rtt_ms > 10000 || slow) { /* too slow to measure in time: half of what the user states */
        params->burst_size = 1;
        params->burst_interval_ms = (uint16_t)ceil(2 * WIRE_BYTES * 8 / row->path.mbit / 1000);
    }
}

static void make_flow(const struct row *row, enum netblt_rate rate, struct flow *flow)
{
    netblt_params_default(&flow->params);
    flow->params.packet_size = PACKET_BYTES;
    flow->params.data_checksum = false; /* of no interest here, and it costs time */
    flow->sender_rate = flow->receiver_rate = rate;
    if (rate == NETBLT_RATE_FIXED)
        fixed_params(row, &flow->params);
    else
        automatic_params(row, &flow->params);
    if (row->path.rtt_ms > 10000) { /* no end gives up sooner than after some round trips */
        flow->params.death_timer_s = (uint16_t)(row->path.rtt_ms * 5 / 1000);
        flow->open_timeout_s = row->path.rtt_ms * 3 / 1000;
    }
    if (row->kind == KIND_WHOLE)
        flow->bytes = 100000000;
    if (row->kind == KIND_START)
        flow->bytes = START_BYTES;
}

struct sums {
    double figure, overhead, spurious, drops, socket, whole_drops, seconds, least, peak;
    double figures[SEEDS_MAX]; /* of each run */
    unsigned runs;
};

static double attainable(const struct row *row, enum netblt_rate rate, const struct flow *flow)
{
    if (row->packet_size != 0 && rate == NETBLT_RATE_FIXED) /* the pair is the limit, not the link */
        return (double)flow->params.burst_size * row->packet_size * 1000 / flow->params.burst_interval_ms;
    return link_mbit(row) * 1e6 / 8 * PACKET_BYTES / WIRE_BYTES * (1 - row->path.loss_percent / 100);
}

static double least_of_greatest(const struct path_run *run, const struct path_result *result)
{
    double least = INFINITY, greatest = 0;
    for (unsigned i = 0; i < run->flow_count; i++) {
        least = fmin(least, (double)result->flows[i].late_bytes);
        greatest = fmax(greatest, (double)result->flows[i].late_bytes);
    }
    return least / greatest;
}

static double figure_of(const struct row *row, enum netblt_rate rate, const struct path_run *run,
                        const struct path_result *result)
{
    const struct flow_result *flow = &result->flows[0];
    double share = (double)flow->late_bytes / (run->seconds / 2) / attainable(row, rate, &run->flows[0]);
    double other = (double)result->flows[1].late_bytes;
    switch (row->kind) {
    case KIND_WHOLE:
        return flow->seconds;
    case KIND_START:
        return (double)result->whole_drops / (double)result->whole_offered;
    case KIND_FAIRNESS:
        return least_of_greatest(run, result);
    case KIND_BESIDE:
        return 2 * fmin(share, other / (run->seconds / 2) / attainable(row, rate, &run->flows[0]));
    case KIND_CROSS:
        return (double)result->cross_delivered / (double)result->cross_offered / (1 - row->path.loss_percent / 100);
    default:
        return share;
    }
}

static void add_run(const struct row *row, enum netblt_rate rate, const struct path_run *run,
                    const struct path_result *result, struct sums *sums)
{
    const struct flow_result *flow = &result->flows[0];
    double figure = figure_of(row, rate, run, result);
    sums->figure += figure;
    sums->figures[sums->runs] = figure;
    sums->least = sums->runs == 0 || figure < sums->least ? figure : sums->least;
    sums->overhead += (double)flow->late_packets * run->flows[0].params.packet_size / (double)flow->late_bytes;
    sums->spurious += (double)flow->late_duplicates / (double)flow->late_received;
    sums->drops += (double)result->queue_drops / (double)result->offered;
    sums->socket += (double)result->socket_drops / (double)result->offered;
    sums->whole_drops += (double)result->whole_drops / (double)result->whole_offered;
    sums->seconds += flow->sender_seconds;
    sums->peak += (double)flow->peak_outstanding * run->flows[0].params.buffer_size / (double)MEBI;
    sums->runs++;
    if (row->kind == KIND_FAIRNESS || row->kind == KIND_CROSS || row->kind == KIND_BESIDE) {
        double used = 0;
        for (unsigned i = 0; i < run->flow_count; i++)
            used += (double)result->flows[i].late_bytes;
        sums->seconds += used / (run->seconds / 2) / attainable(row, rate, &run->flows[0]);
    }
}

/* The least that a whole transfer can take: all packets at the link's rate, the lost ones twice; a round trip to open,
 * one until an unvalidated peer gets more than one GO, half of one for the last packet, and one and a half to ask for
 * its retransmission. */
static double floor_seconds(const struct row *row, enum netblt_rate rate, const struct flow *flow)
{
    return (double)flow->bytes / attainable(row, rate, flow) + 4 * row->path.rtt_ms / 1000;
}

static bool meets(const struct row *row, double figure, double goal)
{
    if (row->kind == KIND_START)
        return figure <= goal;
    return row->kind == KIND_WHOLE ? figure <= goal * 1.05 : figure >= goal;
}

/* Returns true if the row met its goal. */
static bool print_row(const struct row *row, enum netblt_rate rate, const struct sums *sums)
{
    double runs = sums->runs;
    double goal = rate == NETBLT_RATE_FIXED ? row->fixed_goal : row->auto_goal;
    double figure = sums->figure / runs;
    double held = row->kind == KIND_FAIRNESS ? sums->least : figure;
    bool met = meets(row, held, goal);
    bool calm = row->spurious_most == 0 || sums->spurious / runs < row->spurious_most;
    char remark[32] = "";
    if (row->kind == KIND_WHOLE) {
        struct flow flow = {0};
        make_flow(row, rate, &flow);
        snprintf(remark, sizeof remark, "floor %.2f ", floor_seconds(row, rate, &flow));
    }
    printf("%-20s %-5s %7.4f %7.4f %6.3f  %6.4f %7.4f%% %7.4f%% %7.4f%% %8.4f%% %7.1f %7.2f  %s%s%s\n", row->name,
           rate == NETBLT_RATE_FIXED ? "fixed" : "auto", figure, sums->least, goal,
           sums->overhead / runs * (1 - row->path.loss_percent / 100), 100 * sums->spurious / runs,
           100 * sums->drops / runs, 100 * sums->socket / runs, 100 * sums->whole_drops / runs, sums->peak / runs,
           sums->seconds / runs, remark, met ? "" : "BELOW", calm ? "" : "SPURIOUS");
    fflush(stdout);
    return met && calm;
}

static int compare_figures(const void *one, const void *other)
{
    double a = *(const double *)one, b = *(const double *)other;
    return (a > b) - (a < b);
}

/* The figure that `share` of the runs do not exceed; the figures are sorted. */
static double quantile(const struct sums *sums, double share)
{
    return sums->figures[(size_t)ceil(share * sums->runs) - 1];
}

static void print_spread(struct sums *sums)
{
    qsort(sums->figures, sums->runs, sizeof sums->figures[0], compare_figures);
    printf("%20s figures of %u seeds: least %.4f, 5 %% %.4f, median %.4f, 95 %% %.4f, greatest %.4f\n", "", sums->runs,
           sums->figures[0], quantile(sums, .05), quantile(sums, .5), quantile(sums, .95),
           sums->figures[sums->runs - 1]);
}

struct choice {
    uint64_t seed;
    unsigned seeds;
    bool fixed, automatic, in_order, trace, spread, whole, receiver_opens;
    double known_percent;
    uint32_t wake_us;
};

static unsigned flow_count(const struct row *row)
{
    if (row->kind == KIND_FAIRNESS && row->flows != 0)
        return row->flows;
    return row->kind == KIND_FAIRNESS || row->kind == KIND_BESIDE ? 2 : 1;
}

/* Adds what KIND_START needs of one transfer to what those before have come to. */
static void add_transfer(const struct path_result *one, struct path_result *all)
{
    struct flow_result *sum = &all->flows[0];
    const struct flow_result *flow = &one->flows[0];
    all->offered += one->offered;
    all->queue_drops += one->queue_drops;
    all->whole_offered += one->whole_offered;
    all->whole_drops += one->whole_drops;
    sum->late_bytes += flow->late_bytes;
    sum->late_packets += flow->late_packets;
    sum->late_duplicates += flow->late_duplicates;
    sum->late_received += flow->late_received;
    sum->sender_seconds += flow->sender_seconds / START_TRANSFERS;
    if (flow->peak_outstanding > sum->peak_outstanding)
        sum->peak_outstanding = flow->peak_outstanding;
}

static void play(const struct row *row, enum netblt_rate rate, const struct choice *choice, uint64_t seed,
                 struct sums *sums)
{
    struct path_run run = {.seed = seed,
                           .seconds = row->seconds,
                           .path = row->path,
                           .hosts = row->hosts,
                           .flow_count = flow_count(row),
                           .cross_mbit = row->kind == KIND_CROSS ? row->path.mbit / 2 : 0,
                           .in_order = choice->in_order,
                           .trace = choice->trace};
    struct path_result result, all = {0};
    run.hosts.wake_us = choice->wake_us;
    for (unsigned i = 0; i < run.flow_count; i++) {
        make_flow(row, row->kind == KIND_BESIDE && i == 0 ? NETBLT_RATE_FIXED : rate, &run.flows[i]);
        run.flows[i].start_s = (double)i * row->seconds / 10;
    }
    for (unsigned i = 0; i < START_TRANSFERS && row->kind == KIND_START; i++) {
        run.seed = (seed - 1) * START_TRANSFERS + i + 1;
        path_run(&run, &result);
        add_transfer(&result, &all);
    }
    if (row->kind == KIND_START)
        result = all;
    else
        path_run(&run, &result);
    add_run(row, rate, &run, &result, sums);
}

static bool run_row(const struct row *row, enum netblt_rate rate, const struct choice *choice)
{
    struct sums sums = {0};
    for (uint64_t seed = choice->seed; seed < choice->seed + choice->seeds; seed++)
        play(row, rate, choice, seed, &sums);
    bool met = print_row(row, rate, &sums);
    if (choice->spread)
        print_spread(&sums);
    return met;
}

static int usage(FILE *to)
{
    fprintf(
        to,
        "usage: netblt-paths [--seed N] [--seeds COUNT] [--spread] [--rate fixed|auto] [--late US] [--in-order]\n"
        "                    [--trace] [ROW...]\n"
        "       netblt-paths --whole [--recv] [--known PERCENT] [--seed N] [--seeds COUNT] [--late US] [--trace]\n"
        "                            [WORD...]\n"
        "\n"
        "Runs the protocol core over bad paths in virtual time. --spread: a line more for each row, with quantiles\n"
        "of the figure over the seeds. --late: both hosts wake up late, by US microseconds\n"
        "in the median, and one time in a hundred by 13 times that. Exit status: 0 every row met its goal, 1 one\n"
        "is BELOW it, or has SPURIOUS repeats, 2 wrong usage.\n"
        "--whole: whole transfers at the automatic rate instead, as the command proposes them without --path, in the\n"
        "rows whose names begin with a WORD: time until the sender knows that all arrived (median of the seeds), the\n"
        "least that is physically possible, and their ratio; how many round trips after the last first transmission\n"
        "the receiver had everything, and the least. --recv: the receiver opens, as in netblt recv. --known: an "
        "earlier\n"
        "transfer has measured PERCENT of the path's rate, and this one begins as the command does then.\n"
        "Rows:\n");
    for (size_t i = 0; i < ROWS; i++)
        fprintf(to, "  %s\n", rows[i].name);
    return to == stdout ? 0 : 2;
}

static bool number(const char *text, uint64_t *value)
{
    char *end;
    if (text == NULL || *text < '0' || *text > '9')
        return false;
    *value = strtoull(text, &end, 10);
    return *end == 0;
}

/* The arguments before the rows; returns their number, or -1. */
static int read_options(int argc, char **argv, struct choice *choice)
{
    int i = 1;
    for (; i < argc && argv[i][0] == '-'; i++) {
        uint64_t value = 0;
        const char *next = i + 1 < argc ? argv[i + 1] : NULL;
        if (strcmp(argv[i], "--trace") == 0) {
            choice->trace = true;
        } else if (strcmp(argv[i], "--spread") == 0) {
            choice->spread = true;
        } else if (strcmp(argv[i], "--whole") == 0) {
            choice->whole = true;
        } else if (strcmp(argv[i], "--recv") == 0) {
            choice->receiver_opens = true;
        } else if (strcmp(argv[i], "--known") == 0 && number(next, &value) && value >= 1) {
            choice->known_percent = (double)value;
            i++;
        } else if (strcmp(argv[i], "--in-order") == 0) {
            choice->in_order = true;
        } else if (strcmp(argv[i], "--seed") == 0 && number(next, &value)) {
            choice->seed = value;
            i++;
        } else if (strcmp(argv[i], "--seeds") == 0 && number(next, &value) && value >= 1 && value <= SEEDS_MAX) {
            choice->seeds = (unsigned)value;
            i++;
        } else if (strcmp(argv[i], "--late") == 0 && number(next, &value) && value <= LATE_MAX_US) {
            choice->wake_us = (uint32_t)value;
            i++;
        } else if (strcmp(argv[i], "--rate") == 0 && next != NULL &&
                   (strcmp(next, "fixed") == 0 || strcmp(next, "auto") == 0)) {
            choice->fixed = next[0] == 'f';
            choice->automatic = next[0] == 'a';
            i++;
        } else {
            return -1;
        }
    }
    return i;
}

static bool is_wanted(const char *name, char **names, int count)
{
    if (count == 0)
        return true;
    for (int i = 0; i < count; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

static bool is_row(const char *name)
{
    for (size_t i = 0; i < ROWS; i++)
        if (strcmp(rows[i].name, name) == 0)
            return true;
    fprintf(stderr, "netblt-paths: there is no row %s; --help lists them\n", name);
    return false;
}

int main(int argc, char **argv)
{
    struct choice choice = {.seed = 1, .seeds = 1, .fixed = true, .automatic = true};
    bool all_met = true;
    if (argc > 1 && strcmp(argv[1], "--help") == 0)
        return usage(stdout);
    int first = read_options(argc, argv, &choice);
    if (first < 0)
        return usage(stderr);
    if (choice.whole)
        return paths_whole(&(struct whole_choice){.seed = choice.seed,
                                                  .seeds = choice.seeds,
                                                  .wake_us = choice.wake_us,
                                                  .known_percent = choice.known_percent,
                                                  .receiver_opens = choice.receiver_opens,
                                                  .trace = choice.trace,
                                                  .words = argv + first,
                                                  .count = argc - first});
    for (int i = first; i < argc; i++)
        if (!is_row(argv[i]))
            return 2;
    printf("%-20s %-5s %7s %7s %6s  %6s %8s %8s %8s %9s %7s %7s\n", "row", "rate", "figure", "least", "goal", "wire",
           "spurious", "queue", "socket", "drops", "MiB", "s|used");
    for (size_t i = 0; i < ROWS; i++) {
        if (!is_wanted(rows[i].name, argv + first, argc - first))
            continue;
        if (choice.fixed && rows[i].fixed_goal > 0)
            all_met &= run_row(&rows[i], NETBLT_RATE_FIXED, &choice);
        if (choice.automatic && rows[i].auto_goal > 0)
            all_met &= run_row(&rows[i], NETBLT_RATE_AUTO, &choice);
    }
    return all_met ? 0 : 1;
}
