/* SPDX-License-Identifier: BSD-2-Clause */
/* Automatic rate control: what is known of the path, and the base rate. */
#ifndef NETBLT_CORE_RATE_PATH_H
#define NETBLT_CORE_RATE_PATH_H

#include "base/units.h"
#include "rate/auto_state.h"
#include "rate/rate_constants.h"

/* What automatic rate control knows of the path, and the base rate that every rule sets. */

static inline double nb_seconds(netblt_time us)
{
    return (double)us / NB_US_PER_S;
}

static inline double nb_clamp(double value, double least, double most)
{
    return value < least ? least : value > most ? most : value;
}

static inline netblt_time nb_clamp_us(netblt_time value, netblt_time least, netblt_time most)
{
    return value < least ? least : value > most ? most : value;
}

/* What trains show of the link, packets a second, when it is more than what arrives and not beyond belief; else 0. */
double nb_rate_credible_train(const struct nb_rate_auto *rate, double arrived);

/* The path's own round trip, without queue; 0 = not known. */
netblt_time nb_rate_own_round_trip(const struct nb_rate_auto *rate);
/* Whether the round trip is shorter than bursts can shape: then the hosts are the limit, until a queue or loss shows
 * otherwise. */
bool nb_rate_path_is_near(const struct nb_rate_auto *rate);
/* Whether the round trip is so long that an offer too fast would flood the path for seconds before either end knows.
 */
bool nb_rate_path_is_long(const struct nb_rate_auto *rate);
/* Packets in a row arrive clearly faster than was offered, hardly any is lost, and there is no queue: where less
 * arrives on average, the sender began its bursts late. */
bool nb_rate_sender_was_late(const struct nb_rate_auto *rate, const struct nb_rate_result *result);
/* There: NB_RATE_TRAIN_SHARE of what trains show, if they show no more than a careful start may be from the truth; else
 * 0. Packets a second. */
double nb_rate_shown_on_long_path(const struct nb_rate_auto *rate, double from);
/* What the narrowest link carries of all flows together, packets a second, when `arrived` of this one does. */
double nb_rate_of_link(const struct nb_rate_auto *rate, double arrived);
/* So many flows that each has less than a third of the link: caution, as the queue is short for all of them. */
bool nb_rate_many_share_the_link(const struct nb_rate_auto *rate);

/* Round trips vary by more, from one to the next, than the queue that is looked for. */
bool nb_rate_round_trips_scatter(const struct nb_rate_auto *rate);
/* A round trip this much above the path's own shows a queue; microseconds. */
netblt_time nb_rate_queue_limit_us(const struct nb_rate_auto *rate);
/* Whether one does, by the newest round trips. */
bool nb_rate_a_queue_stands(const struct nb_rate_auto *rate);
/* Whether the newest round trips leave room for even a short one. */
bool nb_rate_any_queue(const struct nb_rate_auto *rate);
/* Less arrives than was offered, or than the sender itself had requested: whether that is the path's doing. */
bool nb_rate_path_is_the_limit(const struct nb_rate_auto *rate);

/* So long do as many bursts of the newest offer take as an exact rate needs; microseconds. */
netblt_time nb_rate_bursts_measured_us(const struct nb_rate_auto *rate);
/* The share of the capacity that the base takes. The finer one where a round trip holds so many packets that it costs
 * nothing, and this flow is alone. Near paths are not paced as exactly as that, and on long ones a queue lasts too
 * long. */
double nb_rate_below_capacity(const struct nb_rate_auto *rate);
/* How long a window of the base rate is at least; microseconds. */
netblt_time nb_rate_window_us(const struct nb_rate_auto *rate);
/* What a pair can express, this end may offer, and the sender will adopt; packets a second. */
double nb_rate_most_possible(const struct nb_rate_auto *rate);
/* `why`: for the observer; a string that lasts. */
void nb_rate_set_base(struct nb_rate_auto *rate, double packets_per_s, const char *why);

#endif
