/* SPDX-License-Identifier: GPL-2.0-or-later */
/* CTRL-10: the sender acknowledges each CONTROL soon. */
#ifndef NETBLT_RULE_DUTY_H
#define NETBLT_RULE_DUTY_H

#include "connection/event.h"

/* AMB-34 gives the sender a second, or two burst intervals; the path may be slow, too. */
#define NB_ACK_PATIENCE_S 3.0

void nb_duty_register(void);

/* A packet of the sender that acknowledges messages up to `ack`. */
void nb_duty_acknowledged(const struct nb_event *event, int64_t ack);

/* A packet that acknowledges nothing. */
void nb_duty_keepalive(const struct nb_event *event);

#endif
