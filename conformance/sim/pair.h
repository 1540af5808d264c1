/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two implementations with one flakeway between them, in virtual time. */
#ifndef PAIR_H
#define PAIR_H

#include "flakeway.h"
#include "iut_library.h"
#include "pcapng.h"

/* Two implementations, one flakeway between them, virtual time: the whole event loop in C, for sweeps and long
 * transfers. A is on the left, B on the right. */
typedef struct pair_options {
    uint64_t start_us;
    uint64_t limit_us;      /* virtual time at which to give up; counted as the clock, not from start_us */
    uint64_t limit_packets; /* offered packets after which to give up; 0 = no limit */
    pcapng_writer *capture; /* NULL = none; gets the interfaces "left" and "right" if it has none */
} pair_options;

enum pair_end {
    PAIR_CLOSED = 0, /* both ends have closed */
    PAIR_TIME_LIMIT,
    PAIR_PACKET_LIMIT,
    PAIR_IDLE,          /* nothing on its way and no timer runs, yet an end has not closed */
    PAIR_SPINNING,      /* an end asks to be called again and again at one moment */
    PAIR_CAPTURE_ERROR, /* see pcapng_error() */
};

#define PAIR_NEVER UINT64_MAX

typedef struct pair_result {
    enum pair_end end;
    uint64_t end_us;
    uint64_t done_us[2]; /* when the client of A, of B, knew how the transfer ended; PAIR_NEVER = it did not */
    uint64_t packets[2]; /* offered by A, by B */
    uint64_t bytes[2];   /* NETBLT bytes of these */
} pair_result;

void pair_run(iut *a, iut *b, flakeway *engine, const pair_options *options, pair_result *result);

#endif
