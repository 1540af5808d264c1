/* SPDX-License-Identifier: GPL-2.0-or-later */
/* R1986: connections in the dialect of RFC 1986. */
#ifndef NETBLT_RULE_ETFTP_H
#define NETBLT_RULE_ETFTP_H

#include "connection/event.h"

void nb_etftp_register(void);
void nb_etftp_packet(const struct nb_event *event);

#endif
