/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A RESEND when it is captured for the first time, and whether it came when it may come (RFC 998 5.2.2). */
#ifndef NETBLT_RULE_RESEND_MESSAGE_H
#define NETBLT_RULE_RESEND_MESSAGE_H

#include "connection/event.h"

void nb_resend_message_register(void);

/* `oked`: the OK of its buffer was captured in an earlier packet. */
void nb_resend_message(const struct nb_event *event, const struct nb_message *message, int64_t seq, bool oked);

#endif
