/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A skeleton of a NETBLT endpoint with the interface of netblt_iut.h: a passive receiver that refuses every OPEN.
 * Replace its parts by calls of your implementation. The file pipe_endpoint.c reads and writes the pipe and stays as it
 * is. */
#include "netblt_iut.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPEN = 0, REFUSED = 10 };
enum { HEADER_BYTES = 12, OPEN_BYTES = 36, OUTPUT_MAX_BYTES = 64 };

struct netblt_iut {
    netblt_iut_params params;
    uint8_t output[OUTPUT_MAX_BYTES]; /* the packet that waits to be sent */
    size_t output_length;             /* 0: none */
    uint8_t destination[4];
};

/* ---- packets ---- */

static uint16_t read_u16(const uint8_t *at)
{
    return (uint16_t)(at[0] << 8 | at[1]);
}

static void write_u16(uint8_t *at, unsigned value)
{
    at[0] = (uint8_t)(value >> 8);
    at[1] = (uint8_t)value;
}

/* The sum of the Internet checksum (RFC 1071): 0xffff over a packet whose checksum is right. */
static uint16_t ones_sum(const uint8_t *octets, size_t length)
{
    uint32_t total = 0;
    for (size_t i = 0; i < length; i++)
        total += i % 2 == 0 ? (uint32_t)octets[i] << 8 : octets[i];
    while (total >> 16)
        total = (total & 0xffff) + (total >> 16);
    return (uint16_t)total;
}

static void send_refused(netblt_iut *iut, const uint8_t destination[4], const uint8_t *open, const char *reason)
{
    uint8_t *packet = iut->output;
    size_t reason_bytes = strlen(reason) + 1, length = HEADER_BYTES + reason_bytes;
    memset(packet, 0, OUTPUT_MAX_BYTES);
    packet[2] = iut->params.version_byte;
    packet[3] = REFUSED;
    write_u16(packet + 4, (unsigned)length);
    memcpy(packet + 6, open + 8, 2); /* our port */
    memcpy(packet + 8, open + 6, 2); /* the port of the peer */
    memcpy(packet + HEADER_BYTES, reason, reason_bytes);
    write_u16(packet, (uint16_t)~ones_sum(packet, length));
    iut->output_length = (length + 3) / 4 * 4; /* packets are multiples of 4 bytes */
    memcpy(iut->destination, destination, 4);
}

/* ---- the endpoint ---- */

uint32_t netblt_iut_abi_version(void)
{
    return NETBLT_IUT_ABI_VERSION;
}

/* NULL makes the answer UNSUPPORTED: the case is N/A. */
netblt_iut *netblt_iut_start(const netblt_iut_params *params, const uint8_t *data, size_t length, uint64_t now_us,
                             char *error, size_t error_capacity)
{
    (void)data, (void)length, (void)now_us;
    const char *missing = NULL;
    if (params->active || params->sender)
        missing = "only a passive receiver is implemented";
    else if (params->client_stall_until_us != 0)
        missing = "a client that stalls is not implemented";
    netblt_iut *iut = missing == NULL ? calloc(1, sizeof *iut) : NULL;
    if (iut == NULL) {
        snprintf(error, error_capacity, "%s", missing != NULL ? missing : "no memory");
        return NULL;
    }
    iut->params = *params;
    return iut;
}

void netblt_iut_free(netblt_iut *iut)
{
    free(iut);
}

/* Next: answer an OPEN by a RESPONSE and a CONTROL packet with GO, and take DATA and LDATA (RFC 998 section 5). */
void netblt_iut_packet(netblt_iut *iut, const uint8_t source[4], const uint8_t *packet, size_t length, uint64_t now_us)
{
    (void)now_us;
    if (length < OPEN_BYTES || packet[3] != OPEN)
        return;
    size_t stated = read_u16(packet + 4);
    if (stated < OPEN_BYTES || stated > length || ones_sum(packet, stated) != 0xffff)
        return;
    int ours = read_u16(packet + 8) == iut->params.local_port;
    send_refused(iut, source, packet, ours ? "not implemented yet" : "nobody listens on this port");
}

/* Next: retransmit the CONTROL packet, request missing packets, send KEEPALIVE, detect a dead peer. */
void netblt_iut_advance(netblt_iut *iut, uint64_t now_us)
{
    (void)iut, (void)now_us;
}

size_t netblt_iut_output(netblt_iut *iut, uint64_t now_us, uint8_t destination[4], uint8_t *packet, size_t capacity)
{
    (void)now_us;
    size_t length = iut->output_length <= capacity ? iut->output_length : 0;
    memcpy(packet, iut->output, length);
    memcpy(destination, iut->destination, 4);
    iut->output_length = 0;
    return length;
}

/* Next: the moment of the earliest timer that runs. */
uint64_t netblt_iut_deadline(const netblt_iut *iut)
{
    (void)iut;
    return UINT64_MAX;
}

int netblt_iut_get_status(const netblt_iut *iut)
{
    (void)iut;
    return NETBLT_IUT_OPENING;
}

const char *netblt_iut_reason(const netblt_iut *iut)
{
    (void)iut;
    return "";
}

const uint8_t *netblt_iut_delivered(const netblt_iut *iut, size_t *length)
{
    (void)iut;
    *length = 0;
    return (const uint8_t *)"";
}

const char *netblt_iut_peer_string(const netblt_iut *iut)
{
    (void)iut;
    return "";
}

/* -1 makes the answer UNSUPPORTED. */
int netblt_iut_stop(netblt_iut *iut, int abort, const char *reason, uint64_t now_us)
{
    (void)iut, (void)abort, (void)reason, (void)now_us;
    return -1;
}
