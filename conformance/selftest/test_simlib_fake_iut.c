/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An implementation with nothing in it but what the plumbing's tests look at. The client string chooses what it does:
 * "echo": answers every packet with the same packet, its first byte raised by one, and closes after five;
 * "begin": as echo, but sends the first packet; "spin": its deadline is always now; "stray": sends to another address.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "netblt_iut.h"

struct netblt_iut {
    netblt_iut_params params;
    uint8_t packet[100];
    size_t length; /* waiting to leave */
    unsigned received;
    uint8_t last_source[4];
    char about[400];
};

uint32_t netblt_iut_abi_version(void)
{
#ifdef FAKE_ABI_VERSION
    return FAKE_ABI_VERSION;
#else
    return NETBLT_IUT_ABI_VERSION;
#endif
}

static int is(const netblt_iut *iut, const char *kind)
{
    return strcmp(iut->params.client_string, kind) == 0;
}

netblt_iut *netblt_iut_start(const netblt_iut_params *params, const uint8_t *data, size_t length, uint64_t now_us,
                             char *error, size_t error_capacity)
{
    netblt_iut *iut = calloc(1, sizeof *iut);
    if (!iut || strcmp(params->client_string, "refuse") == 0) {
        snprintf(error, error_capacity, "asked to refuse at %llu", (unsigned long long)now_us);
        free(iut);
        return NULL;
    }
    iut->params = *params;
    if (is(iut, "begin") || is(iut, "stray")) {
        memcpy(iut->packet, data, length);
        iut->length = length;
    }
    return iut;
}

void netblt_iut_free(netblt_iut *iut)
{
    free(iut);
}

void netblt_iut_packet(netblt_iut *iut, const uint8_t source[4], const uint8_t *packet, size_t length, uint64_t now_us)
{
    (void)now_us;
    memcpy(iut->last_source, source, 4);
    memcpy(iut->packet, packet, length);
    iut->packet[0]++;
    iut->length = length;
    iut->received++;
}

void netblt_iut_advance(netblt_iut *iut, uint64_t now_us)
{
    (void)iut;
    (void)now_us;
}

size_t netblt_iut_output(netblt_iut *iut, uint64_t now_us, uint8_t destination[4], uint8_t *packet, size_t capacity)
{
    size_t length = iut->length;
    (void)now_us;
    (void)capacity;
    memcpy(destination, is(iut, "stray") ? (const uint8_t *)"\1\1\1\1" : iut->params.foreign_address, 4);
    memcpy(packet, iut->packet, length);
    iut->length = 0;
    return length;
}

uint64_t netblt_iut_deadline(const netblt_iut *iut)
{
    return is(iut, "spin") ? 0 : UINT64_MAX;
}

int netblt_iut_get_status(const netblt_iut *iut)
{
    return iut->received >= 5 ? NETBLT_IUT_CLOSED_DONE : NETBLT_IUT_OPENING;
}

const char *netblt_iut_reason(const netblt_iut *iut)
{
    const netblt_iut_params *p = &iut->params;
    snprintf(((netblt_iut *)iut)->about, sizeof iut->about, "%u %u %u %u %u %u %u %u %u %u %u %u %u %llu %llu %u %u %s",
             p->active, p->sender, p->version_byte, p->data_checksum, p->local_port, p->foreign_port, p->buffer_size,
             p->packet_size, p->burst_size, p->burst_interval_ms, p->death_timer_s, p->max_buffers,
             p->client_stall_from, (unsigned long long)p->client_stall_until_us, (unsigned long long)p->seed,
             p->local_address[3], p->foreign_address[3], p->client_string);
    return iut->about;
}

const uint8_t *netblt_iut_delivered(const netblt_iut *iut, size_t *length)
{
    *length = sizeof iut->last_source;
    return iut->last_source;
}

const char *netblt_iut_peer_string(const netblt_iut *iut)
{
    (void)iut;
    return "";
}

#ifndef FAKE_WITHOUT_STOP
int netblt_iut_stop(netblt_iut *iut, int abort, const char *reason, uint64_t now_us)
{
    (void)iut;
    (void)now_us;
    return abort && strcmp(reason, "because") == 0 ? 0 : -1;
}
#endif
