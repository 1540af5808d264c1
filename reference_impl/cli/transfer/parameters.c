/* SPDX-License-Identifier: BSD-2-Clause */
/* What this end proposes, and to what it restricts a proposal. */
#include "cli/transfer/parameters.h"

#include "cli/transfer/path_sizes.h"

#include <stdio.h>

/* RFC 998 wants DATA packets to be multiples of 4 bytes (WIRE-05): then no padding is needed but in the last one. */
#define PACKET_ALIGNMENT_BYTES 4
/* Loopback's 65536-byte packets make bursts of a megabyte: stay with the largest that real networks have. */
#define MTU_USED_MAX_BYTES 9000
/* Without a route Ethernet's size is the best guess. */
#define MTU_GUESS_BYTES 1500
/* Unpaced, the buffers under way are all that holds a sender back. With 1 MiB of them it spends half of its time
 * waiting for OKs; 6.7 MB still fit into the socket of a receiver that may have the 8 MiB that it asks for
 * (io/link_options.c). One that may not restricts them (parameters_limit_unpaced()). */
static const path_hint path_unpaced = {.bits_per_second = 1e9, .round_trip_s = 0.016};
/* Of a rate that the user gives: it may be too high, and the start-up tries the double. */
#define AUTO_START_SHARE 0.5
/* One half of a fixed rate without the other: 16 packets in 2 ms are 93 Mb/s, moderate for a local network. */
#define BURST_PACKETS 16
#define BURST_INTERVAL_MS 2
/* What a peer can make a passive end allocate. */
#define PASSIVE_BUFFER_MAX_BYTES (16u * 1024 * 1024)
#define PASSIVE_MEMORY_MAX_BYTES (256u * 1024 * 1024)
/* First buffers of all unvalidated peers. */
#define FIRST_BUFFERS_BYTES (UINT64_C(1) << 28)
#define SMALL_BUFFER_BYTES (UINT64_C(1) << 18)
/* ---- packets -------------------------------------------------------------------------------------------------------
 */

/* Data bytes of the largest packet that an IP packet of `mtu` bytes holds (DATA-14). */
static uint32_t packet_size_for(size_t overhead_bytes, uint32_t mtu)
{
    uint32_t ip_bytes = mtu < 65535 ? mtu : 65535;
    uint32_t headers = (uint32_t)overhead_bytes + NETBLT_DATA_HEADER_BYTES;
    return ip_bytes > headers ? ip_bytes - headers : 1;
}

static uint16_t default_packet_size(size_t overhead_bytes, uint32_t mtu)
{
    uint32_t size = packet_size_for(overhead_bytes, mtu < MTU_USED_MAX_BYTES ? mtu : MTU_USED_MAX_BYTES);
    return (uint16_t)(size < PACKET_ALIGNMENT_BYTES ? size : size - size % PACKET_ALIGNMENT_BYTES);
}

/* Its length was checked with the option. */
static void set_string(const options *given, netblt_params *params)
{
    params->client_string[0] = '\0';
    if (given->client_string != NULL)
        snprintf(params->client_string, sizeof params->client_string, "%s", given->client_string);
}

/* ---- proposing ------------------------------------------------------------------------------------------------ */

static size_t overhead_to_peer(const station *net)
{
    return netblt_encap_overhead_bytes(net->given->encap, netblt_address_family(&net->peer));
}

static uint32_t packet_on_wire_bytes(const netblt_params *params, size_t overhead_bytes)
{
    return (uint32_t)overhead_bytes + NETBLT_DATA_HEADER_BYTES + params->packet_size;
}

/* --path measure. Without a rate or bursts from the user the rate is the assumed one: then a short round trip is no
 * reason for fewer buffers than without measuring, because the rate may be higher. */
static path_hint measured_path(const options *given, double round_trip_s, const path_hint *otherwise,
                               const netblt_params *params, size_t overhead_bytes)
{
    path_hint path = {.given = true, .round_trip_s = round_trip_s};
    double least;
    if (round_trip_s <= 0)
        path.round_trip_s = path_sizes_assumed.round_trip_s;
    if (given->path.bits_per_second > 0) {
        path.bits_per_second = given->path.bits_per_second;
    } else if (given->rate == NETBLT_RATE_FIXED && params->burst_interval_ms > 0) {
        path.bits_per_second =
            8e3 * params->burst_size * packet_on_wire_bytes(params, overhead_bytes) / params->burst_interval_ms;
    } else {
        least = otherwise->bits_per_second * otherwise->round_trip_s / path.round_trip_s;
        path.bits_per_second = path_sizes_assumed.bits_per_second > least ? path_sizes_assumed.bits_per_second : least;
    }
    return path;
}

/* What buffers are sized for. What a burst has missed waits for the next one, so a fixed interval is part of the round
 * trip. */
static path_hint expected_path(const options *given, const station *net, const netblt_params *params)
{
    bool unpaced = given->burst_interval_ms.given && given->burst_interval_ms.value == 0;
    const path_hint *otherwise = unpaced ? &path_unpaced : &path_sizes_assumed;
    path_hint path = given->path.given ? given->path : *otherwise;
    if (given->path.measure)
        path = measured_path(given, net->round_trip_s, otherwise, params, overhead_to_peer(net));
    if (path.given && given->rate == NETBLT_RATE_FIXED)
        path.round_trip_s += params->burst_interval_ms / 1e3;
    return path;
}

static bool path_is_unknown(const options *given)
{
    return given->rate == NETBLT_RATE_AUTO && !given->path.given;
}

static void propose_buffers(const options *given, const path_hint *path, const known_path *known, netblt_params *params)
{
    path_buffers buffers = path_sizes_buffers(path, params->packet_size);
    if (path_is_unknown(given) && known != NULL)
        buffers = path_sizes_known_buffers(known, params->transfer_size, params->packet_size);
    else if (path_is_unknown(given))
        path_sizes_suit_transfer(&buffers, params->transfer_size, params->packet_size);
    uint64_t memory = (uint64_t)buffers.buffer_size * buffers.max_buffers;
    uint64_t count;
    params->buffer_size = (uint32_t)options_number_or(given->buffer_size, buffers.buffer_size);
    count = memory / params->buffer_size; /* as many bytes under way, however they are cut */
    if (count < buffers.max_buffers && given->buffer_size.given)
        buffers.max_buffers = count < 2 ? 2 : (uint16_t)count;
    params->max_buffers = (uint16_t)options_number_or(given->max_buffers, buffers.max_buffers);
}

static path_bursts first_bursts(const path_hint *path, uint32_t wire_bytes)
{
    path_hint start = *path;
    start.bits_per_second *= AUTO_START_SHARE;
    return path_sizes_bursts(&start, wire_bytes);
}

static void propose_bursts(const options *given, const known_path *known, size_t overhead_bytes, netblt_params *params)
{
    uint32_t wire_bytes = packet_on_wire_bytes(params, overhead_bytes);
    path_bursts bursts = {.size = BURST_PACKETS, .interval_ms = BURST_INTERVAL_MS};
    if (given->path.given && given->path.bits_per_second > 0)
        bursts = given->rate == NETBLT_RATE_AUTO ? first_bursts(&given->path, wire_bytes)
                                                 : path_sizes_bursts(&given->path, wire_bytes);
    else if (given->rate == NETBLT_RATE_AUTO)
        bursts = known != NULL ? path_sizes_known_bursts(known, given->role, wire_bytes) : path_sizes_first_bursts;
    params->burst_size = (uint16_t)options_number_or(given->burst_size, bursts.size);
    params->burst_interval_ms = (uint16_t)options_number_or(given->burst_interval_ms, bursts.interval_ms);
}

static int check_sizes(const options *given, const station *net, const netblt_params *params, netblt_failure *failure)
{
    uint32_t mtu = net->route.mtu;
    uint32_t largest = packet_size_for(overhead_to_peer(net), mtu);
    if (given->packet_size.given && params->packet_size > largest)
        return netblt_fail(failure, NETBLT_FAILURE_LOCAL,
                           "--packet-size %u: the route to %s carries packets of %u bytes; give at most %u",
                           params->packet_size, given->host, mtu, largest);
    if (params->buffer_size > PATH_BUFFER_PACKETS_MAX * params->packet_size)
        return netblt_fail(
            failure, NETBLT_FAILURE_LOCAL,
            "--buffer-size %u: a buffer has at most 65535 packets, which is %u bytes with %u-byte packets",
            params->buffer_size, PATH_BUFFER_PACKETS_MAX * params->packet_size, params->packet_size);
    if ((uint64_t)params->buffer_size * params->max_buffers > BUFFER_MEMORY_MAX_BYTES)
        return netblt_fail(failure, NETBLT_FAILURE_LOCAL,
                           "%u buffers of %u bytes are more than %u bytes of memory: choose a smaller --buffer-size or "
                           "--max-buffers",
                           params->max_buffers, params->buffer_size, BUFFER_MEMORY_MAX_BYTES);
    return 0;
}

int parameters_propose(const options *given, const station *net, const known_path *known, uint64_t transfer_size,
                       netblt_params *params, netblt_failure *failure)
{
    size_t overhead_bytes = overhead_to_peer(net);
    const char *what = "";
    path_hint path;
    netblt_params_default(params);
    params->transfer_size = transfer_size;
    params->packet_size =
        (uint16_t)options_number_or(given->packet_size, default_packet_size(overhead_bytes, net->route.mtu));
    propose_bursts(given, known, overhead_bytes, params);
    path = expected_path(given, net, params);
    propose_buffers(given, &path, known, params);
    params->death_timer_s = (uint16_t)options_number_or(given->death_timer_s, params->death_timer_s);
    params->data_checksum = given->data_checksum;
    set_string(given, params);
    if (check_sizes(given, net, params, failure) != 0)
        return -1;
    if (netblt_params_check(params, &what) != 0)
        return netblt_fail(failure, NETBLT_FAILURE_LOCAL, "%s is out of range", what);
    return 0;
}

bool parameters_are_known(const station *net, const known_path *known, const netblt_params *params)
{
    path_bursts bursts = {.size = params->burst_size, .interval_ms = params->burst_interval_ms};
    return known != NULL && path_sizes_carries(known, bursts, packet_on_wire_bytes(params, overhead_to_peer(net)));
}

/* ---- restricting ---------------------------------------------------------------------------------------------- */

static uint64_t lower(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t lower_if_given(uint64_t proposed, optional_number number)
{
    return number.given ? lower(proposed, number.value) : proposed;
}

/* Bytes of the largest IP packet that travels whole. The route back decides. */
static uint32_t mtu_towards(const netblt_path *path)
{
    netblt_failure ignored;
    netblt_route route;
    return netblt_route_lookup(&path->foreign, &path->local, &route, &ignored) == 0 ? route.mtu : MTU_GUESS_BYTES;
}

void parameters_limit_memory(uint64_t bytes, netblt_params *limits)
{
    uint64_t count;
    limits->buffer_size = (uint32_t)lower(limits->buffer_size, bytes);
    count = bytes / (limits->buffer_size == 0 ? 1 : limits->buffer_size);
    limits->max_buffers = (uint16_t)lower(limits->max_buffers, count == 0 ? 1 : count);
}

void parameters_limit_unpaced(size_t socket_bytes, netblt_params *limits)
{
    uint64_t wanted = (uint64_t)limits->buffer_size * limits->max_buffers;
    uint64_t small = lower(limits->buffer_size, PATH_BUFFER_MIN_BYTES);
    if (limits->burst_interval_ms != 0 || wanted <= socket_bytes)
        return;
    if (limits->packet_size < small)
        small -= small % limits->packet_size;
    limits->buffer_size = (uint32_t)small;
    parameters_limit_memory(socket_bytes, limits);
}

void parameters_limit_first_buffer(uint64_t taken, netblt_params *limits)
{
    if (taken + limits->buffer_size > FIRST_BUFFERS_BYTES && limits->buffer_size > SMALL_BUFFER_BYTES)
        limits->buffer_size = SMALL_BUFFER_BYTES;
}

/* The peer did not know the size when it proposed. */
static void suit_transfer(uint64_t transfer_size, netblt_params *limits)
{
    path_buffers buffers = {.buffer_size = limits->buffer_size, .max_buffers = limits->max_buffers};
    path_sizes_suit_transfer(&buffers, transfer_size, limits->packet_size);
    limits->buffer_size = buffers.buffer_size;
}

void parameters_limit(const options *given, enum netblt_role role, const netblt_path *path, uint64_t transfer_size,
                      netblt_params *limits)
{
    size_t overhead_bytes = netblt_encap_overhead_bytes(given->encap, netblt_address_family(&path->foreign));
    uint32_t largest = packet_size_for(overhead_bytes, mtu_towards(path));
    netblt_params defaults;
    netblt_params_default(&defaults);
    limits->packet_size = (uint16_t)lower(lower_if_given(limits->packet_size, given->packet_size), largest);
    limits->buffer_size =
        (uint32_t)lower(lower_if_given(limits->buffer_size, given->buffer_size),
                        given->buffer_size.given ? BUFFER_MEMORY_MAX_BYTES : PASSIVE_BUFFER_MAX_BYTES);
    limits->max_buffers = (uint16_t)lower_if_given(limits->max_buffers, given->max_buffers);
    parameters_limit_memory(given->buffer_size.given ? BUFFER_MEMORY_MAX_BYTES : PASSIVE_MEMORY_MAX_BYTES, limits);
    limits->burst_size = (uint16_t)lower_if_given(limits->burst_size, given->burst_size);
    if (given->burst_interval_ms.given && limits->burst_interval_ms < given->burst_interval_ms.value)
        limits->burst_interval_ms = (uint16_t)given->burst_interval_ms.value;
    limits->death_timer_s = (uint16_t)options_number_or(given->death_timer_s, defaults.death_timer_s);
    limits->data_checksum = limits->data_checksum || given->data_checksum;
    if (role == NETBLT_SENDER)
        limits->transfer_size = transfer_size;
    if (role == NETBLT_SENDER && path_is_unknown(given))
        suit_transfer(transfer_size, limits);
    set_string(given, limits);
}
