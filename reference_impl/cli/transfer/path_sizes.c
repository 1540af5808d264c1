/* SPDX-License-Identifier: BSD-2-Clause */
/* Sizes of buffers and bursts for a path of known, assumed or unknown rate and round trip. */
#include "cli/transfer/path_sizes.h"

#define BUFFER_MAX_BYTES (256 * 1024)
/* So many buffers in a round trip bring so many OKs in it, and each OK may change the rate. */
#define BUFFERS_PER_ROUND_TRIP 8
/* More than so many in a round trip do not help: their GOs, OKs and RESENDs share one CONTROL packet until they are
 * acknowledged (AMB-33). */
#define BUFFERS_PER_ROUND_TRIP_MAX 40
/* A transfer of no more buffers than that is not slowed down by it, and has its first OK, which may change the rate,
 * the earlier the smaller they are. One that is hardly larger than the smallest buffer needs no second one. */
#define BUFFERS_PER_TRANSFER 80
#define ONE_BUFFER_MAX_BYTES (128 * 1024)
#define PRODUCTS_UNDER_WAY 3
#define BUFFERS_MORE 2

/* Smaller bursts waste wake-ups; larger ones overflow queues. */
#define BURST_PACKETS_MIN 4
#define BURST_INTERVAL_MAX_MS 20
#define RATE_ERROR_GOOD 0.01
/* A late burst is forgiven by a quarter of its interval, but no more than 1 ms: longer intervals forgive more up to
 * this one. Not where it would be much of the round trip, which retransmissions wait for, nor a flood for the queues on
 * the way. */
#define FORGIVING_INTERVAL_MS 4
#define INTERVALS_PER_ROUND_TRIP_MIN 8
#define FORGIVING_BURST_MAX_PACKETS 100

const path_hint path_sizes_assumed = {.bits_per_second = 1e9, .round_trip_s = 0.06};

const path_bursts path_sizes_first_bursts = {.size = 48, .interval_ms = 15};

path_buffers path_sizes_buffers(const path_hint *path, uint16_t packet_size)
{
    double product = path->bits_per_second * path->round_trip_s / 8;
    double target = product / BUFFERS_PER_ROUND_TRIP;
    double least_for_control = product / BUFFERS_PER_ROUND_TRIP_MAX;
    double most = least_for_control > BUFFER_MAX_BYTES ? least_for_control : BUFFER_MAX_BYTES;
    uint32_t bytes;
    uint32_t packets;
    double count;
    if (most > (double)PATH_BUFFER_PACKETS_MAX * packet_size)
        most = (double)PATH_BUFFER_PACKETS_MAX * packet_size;
    bytes = target < PATH_BUFFER_MIN_BYTES ? PATH_BUFFER_MIN_BYTES : target > most ? (uint32_t)most : (uint32_t)target;
    packets = bytes / packet_size == 0 ? 1 : bytes / packet_size;
    bytes = packets * packet_size;
    count = product * PRODUCTS_UNDER_WAY / bytes + 1 + BUFFERS_MORE; /* + 1: rounded up */
    if (count * bytes > BUFFER_MEMORY_MAX_BYTES)
        count = (double)BUFFER_MEMORY_MAX_BYTES / bytes;
    return (path_buffers){.buffer_size = bytes, .max_buffers = count > 65535 ? 65535 : (uint16_t)count};
}

void path_sizes_suit_transfer(path_buffers *buffers, uint64_t transfer_bytes, uint16_t packet_size)
{
    uint64_t memory = (uint64_t)buffers->buffer_size * buffers->max_buffers;
    uint64_t bytes = transfer_bytes / BUFFERS_PER_TRANSFER;
    if (transfer_bytes == 0)
        return;
    if (bytes < PATH_BUFFER_MIN_BYTES)
        bytes = PATH_BUFFER_MIN_BYTES;
    if (transfer_bytes <= ONE_BUFFER_MAX_BYTES)
        bytes = transfer_bytes + packet_size - 1;
    if (bytes >= buffers->buffer_size)
        return;
    bytes = bytes < packet_size ? packet_size : bytes - bytes % packet_size;
    buffers->buffer_size = (uint32_t)bytes;
    buffers->max_buffers = memory / bytes > UINT16_MAX ? UINT16_MAX : (uint16_t)(memory / bytes);
}

/* Packets that fit into `interval_ms`. */
static double packets_in(const path_hint *path, uint32_t wire_bytes, unsigned interval_ms)
{
    return path->bits_per_second / 8 * interval_ms / 1e3 / wire_bytes;
}

static unsigned shortest_interval_ms(const path_hint *path, uint32_t wire_bytes)
{
    bool often = path->round_trip_s * 1e3 >= FORGIVING_INTERVAL_MS * INTERVALS_PER_ROUND_TRIP_MIN;
    bool small = packets_in(path, wire_bytes, FORGIVING_INTERVAL_MS) <= FORGIVING_BURST_MAX_PACKETS;
    return often && small ? FORGIVING_INTERVAL_MS : 1;
}

path_bursts path_sizes_bursts(const path_hint *path, uint32_t wire_bytes)
{
    path_bursts best = {.size = 1, .interval_ms = 0};
    double best_error = 2;
    for (unsigned interval = shortest_interval_ms(path, wire_bytes); interval <= BURST_INTERVAL_MAX_MS; interval++) {
        double exact = packets_in(path, wire_bytes, interval);
        double whole = exact >= 65535 ? 65535 : (double)(uint32_t)exact;
        double error = whole < 1 ? 2 : 1 - whole / exact;
        if (error < best_error) {
            best = (path_bursts){.size = (uint16_t)whole, .interval_ms = (uint16_t)interval};
            best_error = error;
        }
        if (whole >= BURST_PACKETS_MIN && best_error < RATE_ERROR_GOOD)
            break;
    }
    if (best.interval_ms == 0) { /* slower than one packet in the longest interval: one packet, as often as it fits */
        double interval = 1 / packets_in(path, wire_bytes, 1) + 1;
        best.interval_ms = interval > 65535 ? 65535 : (uint16_t)interval;
    }
    return best;
}
