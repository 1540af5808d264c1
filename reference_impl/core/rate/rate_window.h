/* SPDX-License-Identifier: BSD-2-Clause */
/* Automatic rate control: measurements of arriving data over a window of packets. */
#ifndef NETBLT_CORE_RATE_WINDOW_H
#define NETBLT_CORE_RATE_WINDOW_H

#include <netblt/types.h>
#include <stdbool.h>
#include <stdint.h>

/* What a receiver measures of arriving data: rates over a window of packets, dispersion of back-to-back trains, and
 * minima of the round trip, maxima of rates. Arithmetic only. */

/* ---- windows ----------------------------------------------------------------------------------------------- */

/* A window of arrivals. Rates are slopes of a least-squares line through (time, packets), so that bursts and a host
 * that looks at its packets only now and then disturb them little. */
struct nb_rate_window {
    netblt_time from;
    netblt_time last;
    double packets;                              /* that arrived */
    double sent;                                 /* that the sender must have sent: those and the gaps between them */
    double runs;                                 /* of gaps */
    double count, time, time2, sent1, sent_time; /* sums, the time in seconds since `from` */
};

struct nb_rate_result {
    double packets;      /* that arrived */
    double lost;         /* gaps that were seen */
    double run_length;   /* mean packets in a gap; 0 = none was lost */
    double seconds;      /* from the first arrival to the last */
    double sent_rate;    /* packets a second, gaps counted: what the path let through, and what it lost by chance */
    double arrival_rate; /* without the gaps */
};

void nb_rate_window_begin(struct nb_rate_window *window, netblt_time now);
/* One packet arrived, after `gap` others that were sent before it and did not. */
void nb_rate_window_add(struct nb_rate_window *window, uint32_t gap, netblt_time now);
/* A packet that was counted as lost arrived after all: the network had reordered it. */
void nb_rate_window_late(struct nb_rate_window *window);
/* False as long as there are too few packets for a line. */
bool nb_rate_window_result(const struct nb_rate_window *window, struct nb_rate_result *result);

/* ---- trains ------------------------------------------------------------------------------------------------ */

/* A burst leaves the sender back to back, so its dispersion on arrival shows the rate of the narrowest link. */
struct nb_rate_trains {
    netblt_time first, last;
    uint32_t length; /* packets in the train that runs */
    double packets;  /* sums over the trains so far; halved from time to time, so that old ones fade */
    double seconds;
    unsigned count;
};

/* `consecutive`: the packet's number is the one after the packet before it. `gap_us`: from here on, trains are apart.
 */
void nb_rate_trains_add(struct nb_rate_trains *trains, bool consecutive, netblt_time gap_us, netblt_time now);
/* Packets a second; 0 = not enough trains, or they are too short in time. */
double nb_rate_trains_rate(const struct nb_rate_trains *trains);
/* The same from the first trains already, the one that runs included; 0 = too few packets. */
double nb_rate_trains_rough_rate(const struct nb_rate_trains *trains);

/* ---- minima ------------------------------------------------------------------------------------------------ */

/* The least of the samples of the last one to two periods. */
struct nb_minimum {
    netblt_time since;
    netblt_time current, before; /* NETBLT_TIME_NEVER = none */
    unsigned samples;            /* in `current` */
};

void nb_minimum_init(struct nb_minimum *minimum);
/* Returns true when a period of `period_us` and `samples` samples is complete: `before` holds its least. */
bool nb_minimum_add(struct nb_minimum *minimum, netblt_time value, netblt_time period_us, unsigned samples,
                    netblt_time now);
netblt_time nb_minimum_get(const struct nb_minimum *minimum);

/* The greatest rate of the last one to two periods. */
struct nb_peak {
    netblt_time since;
    double current, before;
};

void nb_peak_add(struct nb_peak *peak, double rate, netblt_time period_us, netblt_time now);
double nb_peak_get(const struct nb_peak *peak);

#endif
