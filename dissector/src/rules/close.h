/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The end of a connection (RFC 998 5.3): CLOSE, QUIT, ABORT. */
#ifndef NETBLT_RULE_CLOSE_H
#define NETBLT_RULE_CLOSE_H

#include "connection/event.h"

void nb_close_register(void);
void nb_close_packet(const struct nb_event *event);
void nb_close_repeated(const struct nb_event *event); /* a CONTROL without anything new */

#endif
