/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ORDER-02: the packets that a RESEND names precede later buffers. */
#ifndef NETBLT_RULE_ORDER_H
#define NETBLT_RULE_ORDER_H

#include "connection/event.h"

void nb_order_register(void);
void nb_order_message(const struct nb_event *event, const struct nb_message *message, int64_t seq);
void nb_order_data(const struct nb_event *event, int64_t ack);

#endif
