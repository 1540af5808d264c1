/* SPDX-License-Identifier: BSD-2-Clause */
/* What one DATA packet costs this CPU without any network: its checksum, and the whole core, from the sending client's
 * buffer to the receiving one's, over the same working set as the benchmarks with sockets; and what hashing a piece of
 * a tree transfer costs. microbench [--packet BYTES] [--repeats N]     one JSON object, medians in nanoseconds for a
 * packet, and in bytes for a nanosecond (GB/s) for hashes */
#include <getopt.h>

#include <netblt/netblt.h>

#include "cli/tree/manifest.h"
#include "cli/tree/piece_hash.h"
#include "core/wire/checksum.h"
#include "peers/meter.h"

#define STAGING_BYTES 65507
#define PACKETS_IN_BUFFER 176
#define BUFFERS 16
#define REPEATS_MAX 101
#define CHECKSUM_PACKETS 40000

static size_t packet_bytes = 1448;
static uint8_t *source;
static uint8_t *target;
static uint8_t staging[STAGING_BYTES];

static double now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double median(double *samples, size_t count)
{
    qsort(samples, count, sizeof *samples, compare);
    return samples[count / 2];
}

/* ---- checksum
 * --------------------------------------------------------------------------------------------------------- */

/* `cold`: over the working set; else the same packet again and again. */
static double copy_and_checksum(bool cold)
{
    volatile uint16_t sum = 0;
    size_t packets = WORKING_SET_BYTES / packet_bytes;
    double began = now_ns();
    for (size_t i = 0; i < CHECKSUM_PACKETS; i++)
        sum = nb_checksum_copy(staging, source + (cold ? i % packets * packet_bytes : 0), packet_bytes);
    (void)sum;
    return (now_ns() - began) / CHECKSUM_PACKETS;
}

static double copy_only(bool cold)
{
    size_t packets = WORKING_SET_BYTES / packet_bytes;
    double began = now_ns();
    for (size_t i = 0; i < CHECKSUM_PACKETS; i++) {
        memcpy(staging, source + (cold ? i % packets * packet_bytes : 0), packet_bytes);
        __asm__ volatile("" : : "r"(staging) : "memory");
    }
    return (now_ns() - began) / CHECKSUM_PACKETS;
}

/* ---- pieces
 * ------------------------------------------------------------------------------------------------------------ */

/* GB/s of hashing the working set piece by piece. */
static double hash_pieces(void)
{
    uint64_t pieces = WORKING_SET_BYTES / PIECE_BYTES;
    uint8_t hash[PIECE_HASH_BYTES];
    double began = now_ns();
    for (uint64_t i = 0; i < pieces; i++)
        piece_hash(source + i * PIECE_BYTES, PIECE_BYTES, i, false, hash);
    return (double)(pieces * PIECE_BYTES) / (now_ns() - began);
}

/* ---- the core
 * ---------------------------------------------------------------------------------------------------------- */

static uint64_t buffers_wanted;
static bool done;

static size_t slot(uint64_t index, uint32_t capacity)
{
    return (size_t)(index % (WORKING_SET_BYTES / capacity)) * capacity;
}

static enum netblt_send_buffer get_send_buffer(void *context, netblt_connection *connection, uint64_t index,
                                               uint32_t capacity, const uint8_t **data, uint32_t *length, bool *last)
{
    (void)context;
    (void)connection;
    *data = source + slot(index, capacity);
    *length = capacity;
    *last = index + 1 == buffers_wanted;
    return NETBLT_SEND_BUFFER_READY;
}

static uint8_t *get_receive_buffer(void *context, netblt_connection *connection, uint64_t index, uint32_t capacity)
{
    (void)context;
    (void)connection;
    return target + slot(index, capacity);
}

static void finished(void *context, netblt_connection *connection, const netblt_outcome *outcome)
{
    (void)context;
    (void)connection;
    done = done || outcome->result == NETBLT_DONE;
}

static const netblt_client client = {.size = sizeof(netblt_client),
                                     .get_send_buffer = get_send_buffer,
                                     .get_receive_buffer = get_receive_buffer,
                                     .finished = finished};

static void accept_all(void *context, const netblt_request *request, netblt_answer *answer)
{
    (void)context;
    (void)request;
    answer->accept = true;
    answer->client = &client;
    answer->options.any_order = true;
}

/* Moves the packets that `from` has ready to `to`; adds the time that each took. False when it had nothing. */
static bool move(netblt_endpoint *from, netblt_endpoint *to, netblt_time at, double *output_ns, double *input_ns)
{
    netblt_output run;
    netblt_path seen;
    double began = now_ns();
    size_t length = netblt_output_burst(from, staging, sizeof staging, &run, at);
    double between = now_ns();
    if (length == 0)
        return false;
    seen = (netblt_path){.local = run.path.foreign, .foreign = run.path.local};
    (void)netblt_input(to, &seen, staging, run.length, run.segment_bytes, at);
    *output_ns += between - began;
    *input_ns += now_ns() - between;
    return true;
}

/* One transfer of the working set. Nanoseconds for a DATA packet, sent and received. */
static bool run_core(double *output_ns, double *input_ns)
{
    netblt_path path = {.local = {.length = 4, .bytes = {10, 0, 0, 1}},
                        .foreign = {.length = 4, .bytes = {10, 0, 0, 2}}};
    netblt_config config;
    netblt_params params;
    netblt_connection *connection;
    netblt_time at = 1;
    double ignored = 0;
    netblt_config_default(&config);
    netblt_params_default(&params);
    params.packet_size = (uint16_t)packet_bytes;
    params.buffer_size = (uint32_t)(PACKETS_IN_BUFFER * packet_bytes);
    params.max_buffers = BUFFERS;
    params.burst_interval_ms = 0;
    buffers_wanted = WORKING_SET_BYTES / params.buffer_size;
    done = false;
    *output_ns = *input_ns = 0;
    netblt_endpoint *sender = netblt_endpoint_new(&config);
    netblt_endpoint *receiver = netblt_endpoint_new(&config);
    bool ready = sender != NULL && receiver != NULL && netblt_listen(receiver, 1, accept_all, NULL) == 0 &&
                 netblt_open(sender,
                             &(netblt_open_args){.size = sizeof(netblt_open_args),
                                                 .path = &path,
                                                 .local_port = 2,
                                                 .foreign_port = 1,
                                                 .role = NETBLT_SENDER,
                                                 .unique_id = 3,
                                                 .params = &params,
                                                 .client = &client},
                             at, &connection) == 0;
    for (unsigned idle = 0; ready && !done && idle < 100000; at += 10) {
        bool moved = move(sender, receiver, at, output_ns, input_ns);
        idle = move(receiver, sender, at, &ignored, &ignored) || moved ? 0 : idle + 1;
    }
    netblt_endpoint_free(sender);
    netblt_endpoint_free(receiver);
    *output_ns /= (double)(buffers_wanted * PACKETS_IN_BUFFER);
    *input_ns /= (double)(buffers_wanted * PACKETS_IN_BUFFER);
    return done;
}

int main(int argc, char **argv)
{
    static const struct option words[] = {
        {"packet", required_argument, NULL, 'p'}, {"repeats", required_argument, NULL, 'n'}, {NULL, 0, NULL, 0}};
    static double samples[7][REPEATS_MAX];
    size_t repeats = 11;
    int option;
    while ((option = getopt_long(argc, argv, "", words, NULL)) != -1) {
        size_t value = optarg == NULL ? 0 : (size_t)strtoul(optarg, NULL, 10);
        packet_bytes = option == 'p' ? value : packet_bytes;
        repeats = option == 'n' ? value : repeats;
    }
    if (packet_bytes < 1 || packet_bytes > 9000 || repeats < 1 || repeats > REPEATS_MAX) {
        fprintf(stderr, "microbench: packets of 1 to 9000 bytes, 1 to %d repeats\n", REPEATS_MAX);
        return 2;
    }
    source = (uint8_t *)meter_working_set();
    target = (uint8_t *)meter_working_set();
    for (size_t i = 0; i < repeats; i++) {
        samples[0][i] = copy_only(false);
        samples[1][i] = copy_and_checksum(false);
        samples[2][i] = copy_only(true);
        samples[3][i] = copy_and_checksum(true);
        samples[6][i] = hash_pieces();
        if (!run_core(&samples[4][i], &samples[5][i])) {
            fprintf(stderr, "microbench: a transfer did not end\n");
            return 1;
        }
    }
    printf("{\"packet_bytes\": %zu, \"copy_hot_ns\": %.1f, \"copy_checksum_hot_ns\": %.1f, \"copy_cold_ns\": %.1f, "
           "\"copy_checksum_cold_ns\": %.1f, \"core_output_ns\": %.1f, \"core_input_ns\": %.1f, "
           "\"piece_hash_gbytes_s\": %.2f}\n",
           packet_bytes, median(samples[0], repeats), median(samples[1], repeats), median(samples[2], repeats),
           median(samples[3], repeats), median(samples[4], repeats), median(samples[5], repeats),
           median(samples[6], repeats));
    return 0;
}
