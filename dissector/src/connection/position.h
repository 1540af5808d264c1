/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where on the path the capture was taken. Inferred from response times for the reader's orientation only: an inferred
 * position proves nothing. A position set by preference does. */
#ifndef NETBLT_POSITION_H
#define NETBLT_POSITION_H

#include "wireshark/compat.h"

enum nb_position {
    NB_POSITION_AUTO, /* as preference: infer; as result: unknown */
    NB_POSITION_SENDER,
    NB_POSITION_RECEIVER,
    NB_POSITION_BETWEEN,
};

/* What is known of the capture point of a packet. */
struct nb_point {
    enum nb_position position; /* NB_POSITION_AUTO: not known */
    char **hosts;   /* addresses of hosts, with NULL at the end: it is at these ends; NULL: `position` states it */
    bool whole;     /* at an end: the capture holds every packet that this end emitted or received */
    bool both_ends; /* another interface of the file is such a capture of the peer */
};

/* Shortest time in which each end answered something that passed the capture, in seconds; negative when unknown. */
struct nb_reaction {
    double asked_at[2];
    double shortest[2];
};

void nb_reaction_init(struct nb_reaction *reaction);

/* End `end` was asked something at time `now` (OPEN or new control message for it, or the like). */
void nb_reaction_asked(struct nb_reaction *reaction, int end, double now);

/* End `end` has answered what it was asked last. */
void nb_reaction_answered(struct nb_reaction *reaction, int end, double now);

/* The shortest that was seen, from the capture to both ends and back, in seconds; 0 not known. */
double nb_round_trip_s(const struct nb_reaction *reaction);

/* `sender` is the end that sends data (0 or 1), negative when not known. */
enum nb_position nb_infer_position(const struct nb_reaction *reaction, int sender);

extern const value_string nb_position_names[]; /* of enum nb_position as result */

#endif
