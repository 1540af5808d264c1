/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The end of a connection (RFC 998 5.3): CLOSE, QUIT, ABORT. */
#ifndef NETBLT_RULE_CLOSE_H
#define NETBLT_RULE_CLOSE_H

#include "connection/event.h"

void nb_close_register(void);

/* The lowest buffer with a GO and without an OK, up to the last one; NULL: none. 5.3.1: the transfer is over when there
 * is none. */
const struct nb_buffer *nb_close_open_buffer(const struct nb_stream *stream);

void nb_close_packet(const struct nb_event *event);
void nb_close_repeated(const struct nb_event *event); /* a CONTROL without anything new */

/* CLOSE-01: a CONTROL with new messages. After a DONE they show that it came too early. */
void nb_close_goes_on(const struct nb_event *event);

#endif
