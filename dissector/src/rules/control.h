/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A CONTROL as a whole: CTRL-01, 03, 05, TIMER-01..03, RESEND-06, R1030-01. */
#ifndef NETBLT_RULE_CONTROL_H
#define NETBLT_RULE_CONTROL_H

#include "connection/event.h"

void nb_control_register(void);
void nb_control_packet(const struct nb_event *event);

#endif
