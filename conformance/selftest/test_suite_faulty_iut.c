/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Null implementations of netblt_iut.h: FAULT 1 stays silent, 2 echoes every packet, 3 crashes at the first packet,
 * 4 claims success at once, 5 never comes back from its first packet. None of them may pass. */
#include "netblt_iut.h"

#include <stdlib.h>
#include <string.h>

static volatile unsigned work;

struct netblt_iut {
    uint8_t peer[4];
    uint8_t packet[65535];
    size_t length;
};

__attribute__((visibility("default"))) uint32_t netblt_iut_abi_version(void)
{
    return NETBLT_IUT_ABI_VERSION;
}

netblt_iut *netblt_iut_start(const netblt_iut_params *params, const uint8_t *data, size_t length, uint64_t now_us,
                             char *error, size_t error_capacity)
{
    (void)params, (void)data, (void)length, (void)now_us, (void)error, (void)error_capacity;
    return calloc(1, sizeof(netblt_iut));
}

void netblt_iut_free(netblt_iut *iut)
{
    free(iut);
}

void netblt_iut_packet(netblt_iut *iut, const uint8_t source[4], const uint8_t *packet, size_t length, uint64_t now_us)
{
    (void)now_us;
    if (FAULT == 3)
        abort();
    while (FAULT == 5)
        work++;
    memcpy(iut->peer, source, 4);
    memcpy(iut->packet, packet, length);
    iut->length = FAULT == 2 ? length : 0;
}

void netblt_iut_advance(netblt_iut *iut, uint64_t now_us)
{
    (void)iut, (void)now_us;
}

size_t netblt_iut_output(netblt_iut *iut, uint64_t now_us, uint8_t destination[4], uint8_t *packet, size_t capacity)
{
    (void)now_us, (void)capacity;
    size_t length = iut->length;
    memcpy(destination, iut->peer, 4);
    memcpy(packet, iut->packet, length);
    iut->length = 0;
    return length;
}

uint64_t netblt_iut_deadline(const netblt_iut *iut)
{
    (void)iut;
    return UINT64_MAX;
}

int netblt_iut_get_status(const netblt_iut *iut)
{
    (void)iut;
    return FAULT == 4 ? NETBLT_IUT_CLOSED_DONE : NETBLT_IUT_OPENING;
}

const char *netblt_iut_reason(const netblt_iut *iut)
{
    (void)iut;
    return "";
}

const uint8_t *netblt_iut_delivered(const netblt_iut *iut, size_t *length)
{
    *length = 0;
    return iut->packet;
}

const char *netblt_iut_peer_string(const netblt_iut *iut)
{
    (void)iut;
    return "";
}

int netblt_iut_stop(netblt_iut *iut, int abort_it, const char *reason, uint64_t now_us)
{
    (void)iut, (void)abort_it, (void)reason, (void)now_us;
    return -1;
}
