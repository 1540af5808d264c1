/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The acknowledgements that the sender emitted around one message, in order of emission. */
#include "rules/ack-trail.h"

enum { MASK_BITS = 64 };

static uint64_t shifted(uint64_t mask, uint64_t by)
{
    return by < MASK_BITS ? mask << by : 0;
}

void nb_ack_trail_note(struct nb_ack_trail *trail, uint64_t number, enum nb_ack_class ack)
{
    if (number > trail->newest) {
        const uint64_t step = number - trail->newest;
        trail->none = shifted(trail->none, step);
        trail->less = shifted(trail->less, step);
        trail->more = shifted(trail->more, step);
        trail->newest = number;
    }
    const uint64_t bit = shifted(1, trail->newest - number);
    trail->none |= ack == NB_ACK_NONE ? bit : 0;
    trail->less |= ack == NB_ACK_LESS ? bit : 0;
    trail->more |= ack == NB_ACK_MORE ? bit : 0;
}

bool nb_ack_trail_jumps(const struct nb_ack_trail *trail)
{
    if (trail->more == 0) {
        return false;
    }
    uint64_t bit = (uint64_t)1 << (MASK_BITS - 1);
    while ((trail->more & bit) == 0) {
        bit >>= 1; /* down to the earliest packet that acknowledges more */
    }
    do {
        bit <<= 1; /* to the packet emitted before it; 0 beyond the last that is remembered */
    } while ((trail->none & bit) != 0);
    return (trail->less & bit) != 0;
}
