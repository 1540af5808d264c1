/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How many buffers may be in transfer at a time: DATA-12. */
#ifndef NETBLT_RULE_OUTSTANDING_H
#define NETBLT_RULE_OUTSTANDING_H

#include "rules/control-packet.h"

void nb_outstanding_begin(const struct nb_event *event, const struct nb_buffer *buffer); /* its first packet */
void nb_outstanding_control(const struct nb_event *event, const struct nb_control *control);

#endif
