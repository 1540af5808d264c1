/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where buffers end (RFC 998 section 3): DATA-02, DATA-04, DATA-13. */
#ifndef NETBLT_RULE_ENDS_H
#define NETBLT_RULE_ENDS_H

#include "connection/event.h"

/* DATA-04, a full buffer ends with DATA. Only an LDATA without data may follow, right after it, where the end was
 * found late (AMB-42); not when the buffer has its OK, or when the next one begins. */
void nb_buffer_ends_unmarked(const struct nb_event *event, struct nb_buffer *buffer, bool may_go_on);
void nb_buffer_judge_end(const struct nb_event *event, struct nb_buffer *buffer);

/* DATA-13: a packet of a buffer that is complete. */
void nb_buffer_goes_on(const struct nb_event *event, int64_t ack);

/* DATA-02: once every packet is there. Where numbers count from 1 (AMB-10) that is not known before the OK. A buffer
 * that is too small may go on above an LDATA in its middle (DATA-04) until it has `ended`: the next one begins, or its
 * OK is acknowledged. */
void nb_buffer_judge_size(const struct nb_event *event, struct nb_buffer *buffer, bool from_one, bool ended);

#endif
