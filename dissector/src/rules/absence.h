/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Packets that are due and do not appear: QUIT-02, TIMER-01, 10, 11. */
#ifndef NETBLT_RULE_ABSENCE_H
#define NETBLT_RULE_ABSENCE_H

#include "connection/event.h"

void nb_absence_register(void);

/* False after the last OK, or when an end has left: neither end waits. */
bool nb_goes_on(const struct nb_stream *stream);

/* `previous`: when the packet before was captured, of each end; s since the first frame, negative when there was none.
 */
void nb_absence_packet(const struct nb_event *event, const double previous[2]);

#endif
