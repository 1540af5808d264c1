/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NETBLT_CORE_RATE_DECIDE_H
#define NETBLT_CORE_RATE_DECIDE_H

#include "rate_control.h"

/* What automatic rate control makes of its measurements; rate_control.c feeds it. */

/* The window of an epoch that has ended, or of a base rate that was measured long enough. */
void nb_rate_judge(struct nb_rate_control *rate, const struct nb_rate_offer *offer, const struct nb_rate_result *result,
                   netblt_time now);
/* The least round trip of the recent past is known. */
void nb_rate_judge_queue(struct nb_rate_control *rate, netblt_time least_us, netblt_time now);
/* What the next OK should offer. Answers the phase; the rate is in *packets_per_s. */
enum nb_rate_phase nb_rate_next_phase(struct nb_rate_control *rate, double *packets_per_s, netblt_time now);
/* Data comes again after an outage. */
void nb_rate_judge_silence(struct nb_rate_control *rate);
/* What the path carries, as a window shows it: packets lost by chance count, those that a queue dropped do not. */
double nb_rate_path_rate(const struct nb_rate_control *rate, const struct nb_rate_result *result);
/* Whether the round trip is shorter than bursts can shape: then the hosts are the limit, until a queue or loss shows
 * otherwise. */
bool nb_rate_path_is_near(const struct nb_rate_control *rate);
/* Round trips vary by more, from one to the next, than the queue that is looked for. */
bool nb_rate_round_trips_scatter(const struct nb_rate_control *rate);
/* How long a window of the base rate is at least; microseconds. */
netblt_time nb_rate_window_us(const struct nb_rate_control *rate);

#endif
