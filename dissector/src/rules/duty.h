/* SPDX-License-Identifier: GPL-2.0-or-later */
/* CTRL-10: the sender acknowledges each CONTROL soon. */
#ifndef NETBLT_RULE_DUTY_H
#define NETBLT_RULE_DUTY_H

#include "connection/event.h"

void nb_duty_register(void);

/* A packet of the sender that acknowledges messages up to `ack`. */
void nb_duty_acknowledged(const struct nb_event *event, int64_t ack);

/* A packet that acknowledges nothing. */
void nb_duty_keepalive(const struct nb_event *event);

#endif
