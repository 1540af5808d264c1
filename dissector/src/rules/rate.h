/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The pace (RFC 998 section 4): RATE-01, 02, 03, 05. */
#ifndef NETBLT_RULE_RATE_H
#define NETBLT_RULE_RATE_H

#include "connection/event.h"

void nb_rate_register(void);
void nb_rate_offer(const struct nb_event *event, struct nb_pace pace);
/* `buffer` NULL when nothing is known of it any more. */
void nb_rate_packet(const struct nb_event *event, const struct nb_buffer *buffer, bool repeated);

#endif
