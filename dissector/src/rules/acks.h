/* SPDX-License-Identifier: GPL-2.0-or-later */
/* High-seq, the cumulative acknowledgement in every packet of the sender: CTRL-06, 07, CKSUM-06, CTRL-11, NEG-09. */
#ifndef NETBLT_RULE_ACKS_H
#define NETBLT_RULE_ACKS_H

#include "connection/event.h"

void nb_acks_register(void);
void nb_acks_packet(const struct nb_event *event);
void nb_acks_null_ack(const struct nb_event *event);

/* Judges and retires the buffers whose OK is acknowledged now. */
void nb_acks_retire(const struct nb_event *event);

#endif
