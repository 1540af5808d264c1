/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The position of the capture on the path, inferred from response times. */
#include "connection/position.h"

/* One end must answer this many times faster than the other before the capture is taken to be beside it: hosts need
 * time too, and a middle point is seldom exactly in the middle. */
#define NEARER_FACTOR 4.0
#define UNKNOWN (-1.0)

void nb_reaction_init(struct nb_reaction *reaction)
{
    for (int end = 0; end < 2; end++) {
        reaction->asked_at[end] = UNKNOWN;
        reaction->shortest[end] = UNKNOWN;
    }
}

void nb_reaction_asked(struct nb_reaction *reaction, int end, double now)
{
    reaction->asked_at[end] = now;
}

void nb_reaction_answered(struct nb_reaction *reaction, int end, double now)
{
    const double asked = reaction->asked_at[end];

    if (asked < 0 || now < asked) {
        return;
    }
    if (reaction->shortest[end] < 0 || now - asked < reaction->shortest[end]) {
        reaction->shortest[end] = now - asked;
    }
    reaction->asked_at[end] = UNKNOWN;
}

double nb_round_trip_s(const struct nb_reaction *reaction)
{
    const double *shortest = reaction->shortest;

    return shortest[0] < 0 || shortest[1] < 0 ? 0 : shortest[0] + shortest[1];
}

enum nb_position nb_infer_position(const struct nb_reaction *reaction, int sender)
{
    if (sender < 0 || reaction->shortest[0] < 0 || reaction->shortest[1] < 0) {
        return NB_POSITION_AUTO;
    }
    const double by_sender = reaction->shortest[sender];
    const double by_receiver = reaction->shortest[1 - sender];

    if (by_sender * NEARER_FACTOR < by_receiver) {
        return NB_POSITION_SENDER;
    }
    if (by_receiver * NEARER_FACTOR < by_sender) {
        return NB_POSITION_RECEIVER;
    }
    return NB_POSITION_BETWEEN;
}

const value_string nb_position_names[] = {{NB_POSITION_AUTO, "unknown"},
                                          {NB_POSITION_SENDER, "sender"},
                                          {NB_POSITION_RECEIVER, "receiver"},
                                          {NB_POSITION_BETWEEN, "between"},
                                          {0, NULL}};
