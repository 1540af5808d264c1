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

/* Of a rate that earlier transfers have measured, what the next one begins with. Less than half, so that the pauses
 * between bursts are longer than the bursts: then the receiver knows the packets of a burst, and the rate of the link
 * by them. Of a path that is slower than the usual start more, since one small buffer is at stake. */
#define KNOWN_START_SHARE 0.45
#define KNOWN_SLOW_START_SHARE 0.75
/* Bursts that such a link carries in this time show its rate, and fit into most queues. Fewer packets show nothing. */
#define KNOWN_BURST_MS 20
#define KNOWN_BURST_PACKETS_MIN 6
/* Most queues hold as much as the link carries in this time. */
#define KNOWN_QUEUE_MS 100

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

static double larger(double a, double b)
{
    return a > b ? a : b;
}

static double smaller(double a, double b)
{
    return a < b ? a : b;
}

/* One buffer is requested of a sender that opens: the usual start harms no path whose queue holds that. */
static bool usual_start_harms(const known_path *path, enum netblt_role role)
{
    bool holds_buffer = path->bits_per_second / 8e3 * KNOWN_QUEUE_MS > PATH_BUFFER_MIN_BYTES;
    return !path->is_least && (role == NETBLT_RECEIVER || !holds_buffer);
}

path_bursts path_sizes_known_bursts(const known_path *path, enum netblt_role role, uint32_t wire_bytes)
{
    /* packets a millisecond */
    double carried = path->bits_per_second / 8e3 / wire_bytes;
    double usual = (double)path_sizes_first_bursts.size / path_sizes_first_bursts.interval_ms;
    double start = KNOWN_START_SHARE * carried;
    bool is_slow = KNOWN_SLOW_START_SHARE * carried < usual && usual_start_harms(path, role);
    if (start < usual && !is_slow)
        return path_sizes_first_bursts;
    if (is_slow)
        start = KNOWN_SLOW_START_SHARE * carried;
    double burst = smaller(larger(KNOWN_BURST_MS * carried, KNOWN_BURST_PACKETS_MIN), path_sizes_first_bursts.size);
    double interval_ms = smaller((double)(uint32_t)(burst / start) + 1, UINT16_MAX);
    double packets = smaller(larger(start * interval_ms, 1), UINT16_MAX);
    return (path_bursts){.size = (uint16_t)packets, .interval_ms = (uint16_t)interval_ms};
}

bool path_sizes_carries(const known_path *path, path_bursts bursts, uint32_t wire_bytes)
{
    double begins_with = 8e3 * bursts.size * wire_bytes / bursts.interval_ms;
    return bursts.interval_ms != 0 && begins_with <= KNOWN_SLOW_START_SHARE * path->bits_per_second;
}

path_buffers path_sizes_known_buffers(const known_path *path, uint64_t transfer_bytes, uint16_t packet_size)
{
    path_hint known = {.bits_per_second = path->bits_per_second, .round_trip_s = path->round_trip_s};
    double product = known.bits_per_second * known.round_trip_s;
    bool is_large = product > path_sizes_assumed.bits_per_second * path_sizes_assumed.round_trip_s;
    path_buffers buffers = path_sizes_buffers(is_large ? &known : &path_sizes_assumed, packet_size);
    path_sizes_suit_transfer(&buffers, transfer_bytes, packet_size);
    return buffers;
}
