/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Setup (RFC 998 section 4 and 5.1): OPEN, NEG. */
#ifndef NETBLT_RULE_OPENING_H
#define NETBLT_RULE_OPENING_H

#include "connection/event.h"

void nb_opening_register(void);
void nb_opening_packet(const struct nb_event *event);   /* OPEN, RESPONSE */
void nb_opening_transfer(const struct nb_event *event); /* CONTROL, DATA, LDATA, NULL-ACK */

#endif
