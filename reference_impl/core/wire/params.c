/* SPDX-License-Identifier: BSD-2-Clause */
/* Negotiation of parameters: defaults, checks, restriction. */
#include "wire/params.h"

#include <string.h>

void netblt_params_default(netblt_params *params)
{
    *params = (netblt_params){
        .buffer_size = 64 * 1024,
        .packet_size = 1456, /* 1500 - 20 (IPv4) - 24 (DATA header), a multiple of 4 */
        .burst_size = 10,    /* 10 packets in 1 ms are 116 Mb/s of data: a local network's share */
        .burst_interval_ms = 1,
        .death_timer_s = 30,
        .max_buffers = 8,
        .data_checksum = true,
    };
}

uint32_t nb_packets_per_buffer(uint32_t buffer_size, uint16_t packet_size)
{
    return (uint32_t)(((uint64_t)buffer_size + packet_size - 1) / packet_size);
}

int netblt_params_check(const netblt_params *params, const char **what)
{
    const char *wrong = NULL;
    if (params->buffer_size == 0)
        wrong = "buffer size is zero";
    else if (params->packet_size == 0)
        wrong = "packet size is zero";
    else if (params->packet_size > NB_PACKET_SIZE_MAX)
        wrong = "packet size does not fit a packet with its header";
    else if (nb_packets_per_buffer(params->buffer_size, params->packet_size) > NB_PACKETS_PER_BUFFER_MAX)
        wrong = "buffer size is more than 65535 packets";
    else if (params->burst_size == 0)
        wrong = "burst size is zero";
    else if (params->death_timer_s == 0)
        wrong = "death timer is zero";
    else if (params->max_buffers == 0)
        wrong = "number of outstanding buffers is zero";
    else if (memchr(params->client_string, 0, sizeof params->client_string) == NULL)
        wrong = "client string is too long";
    if (what != NULL)
        *what = wrong;
    return wrong == NULL ? 0 : NETBLT_ERR_INVALID_ARGUMENT;
}

static uint16_t smaller16(uint16_t a, uint16_t b)
{
    return a < b ? a : b;
}

static uint16_t larger16(uint16_t a, uint16_t b)
{
    return a > b ? a : b;
}

void nb_params_restrict(const netblt_params *proposed, const netblt_params *limits, netblt_params *agreed)
{
    *agreed = *limits; /* death timer, client string and transfer size are this end's own words */
    agreed->buffer_size = proposed->buffer_size < limits->buffer_size ? proposed->buffer_size : limits->buffer_size;
    agreed->packet_size = smaller16(proposed->packet_size, limits->packet_size);
    agreed->packet_size = smaller16(agreed->packet_size, NB_PACKET_SIZE_MAX);
    uint32_t most = (uint32_t)agreed->packet_size * NB_PACKETS_PER_BUFFER_MAX;
    if (agreed->buffer_size > most)
        agreed->buffer_size = most; /* AMB-17 */
    agreed->burst_size = smaller16(proposed->burst_size, limits->burst_size);
    agreed->burst_interval_ms = larger16(proposed->burst_interval_ms, limits->burst_interval_ms);
    agreed->max_buffers = smaller16(proposed->max_buffers, limits->max_buffers);
    agreed->data_checksum = proposed->data_checksum || limits->data_checksum; /* AMB-24: never turned off */
}

const char *nb_proposal_unusable(const struct nb_open_fields *fields)
{
    if (fields->buffer_size == 0)
        return "buffer size is zero";
    if (fields->packet_size == 0)
        return "packet size is zero";
    if (fields->burst_size == 0)
        return "burst size is zero"; /* AMB-11 */
    if (fields->max_buffers == 0)
        return "number of outstanding buffers is zero";
    return NULL;
}

const char *nb_response_unusable(const netblt_params *proposed, const struct nb_open_fields *response)
{
    const char *zero = nb_proposal_unusable(response);
    if (zero != NULL)
        return zero;
    if (response->buffer_size > proposed->buffer_size)
        return "RESPONSE raises the buffer size";
    if (response->packet_size > proposed->packet_size)
        return "RESPONSE raises the packet size";
    if (response->burst_size > proposed->burst_size)
        return "RESPONSE raises the burst size";
    if (response->burst_interval_ms < proposed->burst_interval_ms)
        return "RESPONSE shortens the burst interval";
    if (response->max_buffers > proposed->max_buffers)
        return "RESPONSE raises the number of buffers";
    /* Packet numbers have 16 bits: 65536 packets can still be named. */
    if (nb_packets_per_buffer(response->buffer_size, response->packet_size) > NB_PACKETS_PER_BUFFER_MAX + 1)
        return "a buffer of RESPONSE has more than 65536 packets";
    return NULL;
}

void nb_text_copy(char *to, struct nb_text text)
{
    size_t length = text.length < NETBLT_STRING_MAX_BYTES ? text.length : NETBLT_STRING_MAX_BYTES;
    if (length > 0)
        memcpy(to, text.bytes, length);
    to[length] = 0;
}

void nb_params_from_wire(const struct nb_open_fields *fields, netblt_params *params)
{
    *params = (netblt_params){
        .buffer_size = fields->buffer_size,
        .transfer_size = fields->transfer_size,
        .packet_size = fields->packet_size,
        .burst_size = fields->burst_size,
        .burst_interval_ms = fields->burst_interval_ms,
        .death_timer_s = fields->death_timer_s,
        .max_buffers = fields->max_buffers,
        .data_checksum = fields->data_checksum,
    };
    nb_text_copy(params->client_string, fields->string);
}

void nb_params_to_wire(const netblt_params *params, struct nb_open_fields *fields)
{
    *fields = (struct nb_open_fields){
        .buffer_size = params->buffer_size,
        .transfer_size = params->transfer_size > UINT32_MAX ? 0 : (uint32_t)params->transfer_size, /* AMB-15 */
        .packet_size = params->packet_size,
        .burst_size = params->burst_size,
        .burst_interval_ms = params->burst_interval_ms,
        .death_timer_s = params->death_timer_s,
        .max_buffers = params->max_buffers,
        .data_checksum = params->data_checksum,
        .string = {(const uint8_t *)params->client_string, strlen(params->client_string)},
    };
}
