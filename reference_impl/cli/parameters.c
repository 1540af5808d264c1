/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/parameters.h"

#include <stdio.h>

/* RFC 998 wants DATA packets to be multiples of 4 bytes (WIRE-05): then no padding is needed but in the last one. */
#define PACKET_ALIGNMENT_BYTES 4
/* Loopback's 65536-byte packets make bursts of a megabyte: stay with the largest that real networks have. */
#define MTU_USED_MAX_BYTES 9000
/* A buffer is what is confirmed and, at its end, repaired: 64 KiB is some tens of packets. */
#define BUFFER_TARGET_BYTES 65536
/* 16 x 64 KiB = 1 MiB under way keeps 100 Mb/s busy at a round trip of 80 ms. */
#define MAX_BUFFERS 16
/* 16 packets in 2 ms: 93 Mb/s with 1456-byte packets, moderate for a local network. */
#define BURST_PACKETS 16
#define BURST_INTERVAL_MS 2
/* What a peer can make a passive end allocate. */
#define PASSIVE_BUFFER_MAX_BYTES (16u * 1024 * 1024)
#define PASSIVE_MEMORY_MAX_BYTES (256u * 1024 * 1024)
/* The RESEND count has 16 bits (AMB-17). */
#define BUFFER_PACKETS_MAX 65535u

/* Data bytes of the largest packet that an IP packet of `mtu` bytes holds (DATA-14). */
static uint32_t packet_size_for(const options *given, uint32_t mtu)
{
    uint32_t ip_bytes = mtu < 65535 ? mtu : 65535;
    uint32_t headers = (uint32_t)netblt_encap_overhead_bytes(given->encap) + NETBLT_DATA_HEADER_BYTES;

    return ip_bytes > headers ? ip_bytes - headers : 1;
}

static uint16_t default_packet_size(const options *given, uint32_t mtu)
{
    uint32_t size = packet_size_for(given, mtu < MTU_USED_MAX_BYTES ? mtu : MTU_USED_MAX_BYTES);

    return (uint16_t)(size < PACKET_ALIGNMENT_BYTES ? size : size - size % PACKET_ALIGNMENT_BYTES);
}

/* Whole packets only, so that every buffer ends in a full one. */
static uint32_t default_buffer_size(uint16_t packet_size)
{
    uint32_t packets = BUFFER_TARGET_BYTES / packet_size;

    return packet_size * (packets == 0 ? 1 : packets);
}

/* Its length was checked with the option. */
static void set_string(const options *given, netblt_params *params)
{
    snprintf(params->client_string, sizeof params->client_string, "%s", given->client_string);
}

static void set_from_user(const options *given, netblt_params *params)
{
    params->burst_size = given->burst_size.given ? (uint16_t)given->burst_size.value : BURST_PACKETS;
    params->burst_interval_ms =
        given->burst_interval_ms.given ? (uint16_t)given->burst_interval_ms.value : BURST_INTERVAL_MS;
    params->max_buffers = given->max_buffers.given ? (uint16_t)given->max_buffers.value : MAX_BUFFERS;
    if (given->death_timer_s.given)
        params->death_timer_s = (uint16_t)given->death_timer_s.value;
    params->data_checksum = given->data_checksum;
    set_string(given, params);
}

static int check_sizes(const options *given, const netblt_params *params, uint32_t mtu, netblt_failure *failure)
{
    if (given->packet_size.given && params->packet_size > packet_size_for(given, mtu))
        return netblt_fail(failure, NETBLT_FAILURE_LOCAL,
                           "--packet-size %u: the route to %s carries packets of %u bytes; give at most %u",
                           params->packet_size, given->host, mtu, packet_size_for(given, mtu));
    if (params->buffer_size > BUFFER_PACKETS_MAX * params->packet_size)
        return netblt_fail(
            failure, NETBLT_FAILURE_LOCAL,
            "--buffer-size %u: a buffer has at most 65535 packets, which is %u bytes with %u-byte packets",
            params->buffer_size, BUFFER_PACKETS_MAX * params->packet_size, params->packet_size);
    if ((uint64_t)params->buffer_size * params->max_buffers > BUFFER_MEMORY_MAX_BYTES)
        return netblt_fail(failure, NETBLT_FAILURE_LOCAL,
                           "%u buffers of %u bytes are more than %u bytes of memory: choose a smaller --buffer-size or "
                           "--max-buffers",
                           params->max_buffers, params->buffer_size, BUFFER_MEMORY_MAX_BYTES);
    return 0;
}

int parameters_propose(const options *given, uint32_t mtu, uint64_t transfer_size, netblt_params *params,
                       netblt_failure *failure)
{
    const char *what = "";

    netblt_params_default(params);
    params->transfer_size = transfer_size;
    params->packet_size =
        given->packet_size.given ? (uint16_t)given->packet_size.value : default_packet_size(given, mtu);
    params->buffer_size =
        given->buffer_size.given ? (uint32_t)given->buffer_size.value : default_buffer_size(params->packet_size);
    set_from_user(given, params);
    if (check_sizes(given, params, mtu, failure) != 0)
        return -1;
    if (netblt_params_check(params, &what) != 0)
        return netblt_fail(failure, NETBLT_FAILURE_LOCAL, "%s is out of range", what);
    return 0;
}

static uint64_t lower(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t lower_if_given(uint64_t proposed, optional_number number)
{
    return number.given ? lower(proposed, number.value) : proposed;
}

void parameters_limit(const options *given, uint32_t mtu, uint64_t transfer_size, netblt_params *limits)
{
    netblt_params defaults;
    uint64_t buffers_in_memory;

    netblt_params_default(&defaults);
    limits->packet_size =
        (uint16_t)lower(lower_if_given(limits->packet_size, given->packet_size), packet_size_for(given, mtu));
    limits->buffer_size =
        (uint32_t)lower(lower_if_given(limits->buffer_size, given->buffer_size),
                        given->buffer_size.given ? BUFFER_MEMORY_MAX_BYTES : PASSIVE_BUFFER_MAX_BYTES);
    buffers_in_memory = PASSIVE_MEMORY_MAX_BYTES / (limits->buffer_size == 0 ? 1 : limits->buffer_size);
    limits->max_buffers = (uint16_t)lower(lower_if_given(limits->max_buffers, given->max_buffers),
                                          buffers_in_memory == 0 ? 1 : buffers_in_memory);
    limits->burst_size = (uint16_t)lower_if_given(limits->burst_size, given->burst_size);
    if (given->burst_interval_ms.given && limits->burst_interval_ms < given->burst_interval_ms.value)
        limits->burst_interval_ms = (uint16_t)given->burst_interval_ms.value;
    limits->death_timer_s = given->death_timer_s.given ? (uint16_t)given->death_timer_s.value : defaults.death_timer_s;
    limits->data_checksum = limits->data_checksum || given->data_checksum;
    if (given->role == NETBLT_SENDER)
        limits->transfer_size = transfer_size;
    set_string(given, limits);
}
