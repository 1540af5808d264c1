/* SPDX-License-Identifier: GPL-2.0-or-later */
/* CTRL-04: every CONTROL carries all messages that are not acknowledged yet. */
#ifndef NETBLT_RULE_REDUNDANCY_H
#define NETBLT_RULE_REDUNDANCY_H

#include "rules/control-packet.h"

void nb_redundancy_register(void);
void nb_redundancy_control(const struct nb_event *event, const struct nb_control *control);
void nb_redundancy_acknowledged(const struct nb_event *event);
void nb_redundancy_passed(const struct nb_event *event); /* a packet of the sender that acknowledges nothing */

#endif
