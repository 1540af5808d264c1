/* SPDX-License-Identifier: BSD-2-Clause */
/* The control sequence numbers that the data sender has recorded. */
#ifndef NETBLT_CORE_SEQUENCE_H
#define NETBLT_CORE_SEQUENCE_H

#include <stdbool.h>
#include <stdint.h>

/* The data sender's memory of control sequence numbers (CTRL-06, CTRL-07). Invariant: every number up to `high` was
 * recorded, high + 1 was not, and `beyond` has a bit for each recorded number in (high, high + NB_SEQUENCE_WINDOW). */

/* Numbers further beyond a hole are treated as not received: they are repeated (CTRL-04) until they are. A power of two
 * that divides 2^16; far more messages than one CONTROL packet holds. */
enum { NB_SEQUENCE_WINDOW = 4096 };

struct nb_sequence {
    uint16_t high; /* high consecutive sequence number received; 0 before the first message (AMB-38) */
    uint64_t beyond[NB_SEQUENCE_WINDOW / 64];
};

void nb_sequence_init(struct nb_sequence *sequence);
/* Whether `seq` was not recorded before and can be. A number equal to `high` is a duplicate (CTRL-09, AMB-37). */
bool nb_sequence_is_new(const struct nb_sequence *sequence, uint16_t seq);
/* Whether `seq` is the very next one, so that no hole lies below it. */
bool nb_sequence_is_next(const struct nb_sequence *sequence, uint16_t seq);
/* Records a new number; when it fills a hole, `high` jumps over all that was recorded beyond (AMB-36). */
void nb_sequence_record(struct nb_sequence *sequence, uint16_t seq);

#endif
