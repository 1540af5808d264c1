/* SPDX-License-Identifier: BSD-2-Clause */
/* Oracle of the pace: whether data packets can have left in bursts of at most a size, an interval apart (RATE-02). */
#ifndef NETBLT_FUZZ_PACE_H
#define NETBLT_FUZZ_PACE_H

#include <netblt/types.h>
#include <stdbool.h>
#include <stdint.h>

struct pace_pair {
    unsigned size; /* packets */
    unsigned interval_ms;
};

/* Two bounds. The strict one knows where bursts begin, which needs a driver that always lets packets leave when they
 * may. The other one holds for any driver: however intervals lie, a time T sees at most T / interval + 2 bursts. */
struct pace {
    struct pace_pair fastest; /* of the pairs that can have been in force */
    netblt_time late_max_us;  /* a burst that is late by no more does not delay the next one */
    bool strict;
    netblt_time planned_at; /* strict: start of the running burst, and packets in it */
    unsigned used;
    double level; /* packets beyond what the fastest pair carries away */
    netblt_time last_at;
    bool begun;
};

void pace_init(struct pace *pace, struct pace_pair negotiated, netblt_time catch_up_max_us, bool strict);
/* A pair that can be in force from now on. Ends the strict bound when it is another one. */
void pace_offer(struct pace *pace, struct pace_pair pair);
/* A data packet leaves now. False: too fast. */
bool pace_sent(struct pace *pace, netblt_time now);

#endif
