/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which acknowledgements did the sender emit around one message, in the order of emission?
 *
 * Acknowledgements never go back. So when two packets with consecutive IP IDs acknowledge less and more than message s,
 * no packet ever acknowledged up to s exactly: wherever it went, whatever the capture missed. */
#ifndef NETBLT_ACK_TRAIL_H
#define NETBLT_ACK_TRAIL_H

#include "wireshark/compat.h"

enum nb_ack_class {
    NB_ACK_NONE,  /* a packet that acknowledges nothing, as KEEPALIVE */
    NB_ACK_LESS,  /* ... less than the message */
    NB_ACK_EXACT, /* ... up to the message and no further */
    NB_ACK_MORE,
};

/* The last 64 numbers; bit i stands for number newest - i. No bit in any mask: that packet was not captured. */
struct nb_ack_trail {
    uint64_t newest;
    uint64_t none;
    uint64_t less;
    uint64_t more;
};

/* Takes note of the packet with this number (struct nb_emitted), in any order, each once. A zeroed trail is empty. */
void nb_ack_trail_note(struct nb_ack_trail *trail, uint64_t number, enum nb_ack_class ack);

/* True when a packet that acknowledges more follows one that acknowledges less, and no packet between them can have
 * been missed. */
bool nb_ack_trail_jumps(const struct nb_ack_trail *trail);

#endif
