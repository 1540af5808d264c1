/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The lists of RESENDs. A message is checked when it is captured for the first time. */
#ifndef NETBLT_RULE_REQUESTS_H
#define NETBLT_RULE_REQUESTS_H

#include "connection/event.h"

void nb_requests_ask(const struct nb_event *event, const struct nb_message *message, struct nb_buffer *buffer);
/* Only counts what the message asks for. */
void nb_requests_count(const struct nb_event *event, const struct nb_message *message, struct nb_buffer *buffer);
void nb_requests_ask_again(const struct nb_event *event, const struct nb_message *message);
void nb_requests_judge(const struct nb_event *event, struct nb_buffer *buffer); /* its OK is acknowledged */

#endif
