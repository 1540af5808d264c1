/* SPDX-License-Identifier: GPL-2.0-or-later */
/* GO, OK and RESEND one by one, when they are captured for the first time and when they are repeated. */
#ifndef NETBLT_RULE_MESSAGES_H
#define NETBLT_RULE_MESSAGES_H

#include "connection/event.h"

void nb_messages_register(void);
void nb_message_fresh(const struct nb_event *event, const struct nb_heard *heard);
void nb_message_again(const struct nb_event *event, const struct nb_heard *heard);
/* It was acknowledged before it was captured. */
void nb_message_late(const struct nb_event *event, const struct nb_heard *heard);

/* The receiver knew that `ack` was acknowledged when it queued message `from` (CTRL-05). */
struct nb_knowledge {
    int64_t ack;
    int64_t low;  /* even had it got no more than one packet of the buffer */
    int64_t from; /* 0: nothing known */
    uint32_t frame;
};

const struct nb_knowledge *nb_messages_knowledge(const struct nb_stream *stream);

#endif
