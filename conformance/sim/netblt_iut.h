/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The interface of an implementation under test as a shared library, for the link sim. */
#ifndef NETBLT_IUT_H
#define NETBLT_IUT_H

#include <stddef.h>
#include <stdint.h>

/* An implementation under test as a shared library: the `sim` link loads it, owns its clock and carries its packets.
 * The same operations exist as messages on the `pipe` link and as processes on the `wire` link; see docs/links.md.
 * One instance is one end of one transfer. All times are microseconds of virtual time, never decreasing. */
#define NETBLT_IUT_ABI_VERSION 1

typedef struct netblt_iut netblt_iut;

enum netblt_iut_status {
    NETBLT_IUT_OPENING = 0, /* active: OPEN sent; passive: listening */
    NETBLT_IUT_OPEN = 1,
    NETBLT_IUT_DONE = 2,   /* the client knows that the transfer succeeded (it may still dally) */
    NETBLT_IUT_FAILED = 3, /* the client knows that it failed; see netblt_iut_reason() */
    NETBLT_IUT_CLOSED_DONE = 4,
    NETBLT_IUT_CLOSED_FAILED = 5, /* nothing more will be sent */
};

typedef struct netblt_iut_params {
    uint8_t active;
    uint8_t sender;
    uint8_t version_byte;
    uint8_t data_checksum;
    uint16_t local_port;
    uint16_t foreign_port; /* active only */
    uint32_t buffer_size;
    uint16_t packet_size;
    uint16_t burst_size;
    uint16_t burst_interval_ms;
    uint16_t death_timer_s;
    uint16_t max_buffers;
    uint16_t client_stall_from;     /* the client withholds buffers with this index and above ... */
    uint64_t client_stall_until_us; /* ... until this time; 0 = it never stalls */
    uint64_t seed;                  /* the only source of randomness (unique IDs) */
    uint8_t local_address[4];
    uint8_t foreign_address[4]; /* active only */
    char client_string[256];
} netblt_iut_params;

#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif

uint32_t netblt_iut_abi_version(void);

/* Starts one end. A sender sends `length` bytes at `data`, which are copied. NULL on failure with a sentence in error.
 */
netblt_iut *netblt_iut_start(const netblt_iut_params *params, const uint8_t *data, size_t length, uint64_t now_us,
                             char *error, size_t error_capacity);
void netblt_iut_free(netblt_iut *iut);

/* A NETBLT packet (no IP header) from `source` has arrived. */
void netblt_iut_packet(netblt_iut *iut, const uint8_t source[4], const uint8_t *packet, size_t length, uint64_t now_us);
/* Runs the timers that are due. */
void netblt_iut_advance(netblt_iut *iut, uint64_t now_us);
/* The next packet that leaves now: its length, with *destination set; 0 = none. */
size_t netblt_iut_output(netblt_iut *iut, uint64_t now_us, uint8_t destination[4], uint8_t *packet, size_t capacity);
/* When netblt_iut_advance() is wanted; UINT64_MAX = never. */
uint64_t netblt_iut_deadline(const netblt_iut *iut);

int netblt_iut_get_status(const netblt_iut *iut);
const char *netblt_iut_reason(const netblt_iut *iut); /* never NULL */
/* What the client received so far, in order. Valid until the next call. */
const uint8_t *netblt_iut_delivered(const netblt_iut *iut, size_t *length);
/* The client string that the peer sent; "" before it is known. */
const char *netblt_iut_peer_string(const netblt_iut *iut);
/* The client asks to quit (abort = 0) or the NETBLT layer aborts (abort = 1). 0, or -1 when it cannot. */
int netblt_iut_stop(netblt_iut *iut, int abort, const char *reason, uint64_t now_us);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif

#endif
