/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A receiver confirms what is complete, and requests what is missing. */
#ifndef NETBLT_RULE_PROGRESS_H
#define NETBLT_RULE_PROGRESS_H

#include "connection/event.h"

/* To be called once when the protocol is registered. */
void nb_progress_register(void);

/* Each packet of an open connection. */
void nb_progress_packet(const struct nb_event *event);

#endif
