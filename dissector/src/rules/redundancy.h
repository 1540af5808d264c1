/* SPDX-License-Identifier: GPL-2.0-or-later */
/* CTRL-04: every CONTROL carries all messages that are not acknowledged yet. */
#ifndef NETBLT_RULE_REDUNDANCY_H
#define NETBLT_RULE_REDUNDANCY_H

#include "rules/control-packet.h"

void nb_redundancy_register(void);
void nb_redundancy_control(const struct nb_event *event, const struct nb_control *control);

/* Goes on where the CONTROL before it ended, so soon after it: perhaps the next part of one queue. */
bool nb_redundancy_continues(const struct nb_event *event, const struct nb_control *control);

/* By the IP IDs this end emitted nothing between the CONTROL before, which is sound, and this one. */
bool nb_redundancy_directly_behind(const struct nb_event *event);

/* Goes on as above after any time, and both together are larger than a CONTROL here is known to be. */
bool nb_redundancy_may_be_part(const struct nb_event *event, const struct nb_control *control);
void nb_redundancy_acknowledged(const struct nb_event *event);
void nb_redundancy_passed(const struct nb_event *event);         /* a packet of the sender that acknowledges nothing */
unsigned nb_redundancy_capacity(const struct nb_stream *stream); /* bytes that a CONTROL here is known to hold */

#endif
