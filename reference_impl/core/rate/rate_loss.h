/* SPDX-License-Identifier: BSD-2-Clause */
/* Automatic rate control: which loss is due to the path, and the back-off for the rest. */
#ifndef NETBLT_CORE_RATE_LOSS_H
#define NETBLT_CORE_RATE_LOSS_H

#include "rate/auto_state.h"

/* Loss: which of it is the path's own, and what to do about the rest. */

/* Whether more was lost than this path loses by chance: then it was a queue that overflowed. */
bool nb_rate_lost_too_much(const struct nb_rate_auto *rate, const struct nb_rate_result *result);
/* What was lost was lost by chance: `weight` of it becomes what is expected. */
void nb_rate_learn_loss(struct nb_rate_auto *rate, const struct nb_rate_result *result, double weight);
/* The rate at which packets would have arrived had the queue dropped none: what the path can carry. */
double nb_rate_carried(const struct nb_rate_auto *rate, const struct nb_rate_result *result);
/* What the path carries, as a window shows it: packets lost by chance count, those that a queue dropped do not. */
double nb_rate_path_rate(const struct nb_rate_auto *rate, const struct nb_rate_result *result);

/* A queue too short for our bursts drops their ends: shorter bursts help where a lower rate would not. Returns whether
 * they were shortened, now or since that offer. */
bool nb_rate_shorten_bursts(struct nb_rate_auto *rate, const struct nb_rate_offer *offer,
                            const struct nb_rate_result *result);
/* Shorter bursts, or a lower base on trial. */
void nb_rate_back_off_for_loss(struct nb_rate_auto *rate, const struct nb_rate_offer *offer,
                               const struct nb_rate_result *result);
/* One more window of a base on trial. Returns whether the trial showed that the loss was the path's own. */
bool nb_rate_loss_was_chance(struct nb_rate_auto *rate, const struct nb_rate_result *result);

#endif
