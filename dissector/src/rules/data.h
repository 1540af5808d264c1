/* SPDX-License-Identifier: GPL-2.0-or-later */
/* DATA and LDATA packets (RFC 998 sections 3, 5.2, 5.3.1): DATA, RESEND-03. */
#ifndef NETBLT_RULE_DATA_H
#define NETBLT_RULE_DATA_H

#include "connection/event.h"

void nb_data_register(void);
void nb_data_packet(const struct nb_event *event);
void nb_data_copy(const struct nb_event *event);

#endif
