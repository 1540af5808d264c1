/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ROBUST-03..08, TIMER-12, DEMUX-03: invalid or unneeded packets that an end must survive. */
#ifndef NETBLT_RULE_ROBUST_H
#define NETBLT_RULE_ROBUST_H

#include "connection/event.h"

/* What an end has to tolerate of its peer (ROBUST-03..08), and what asks for no answer (TIMER-12). */
enum nb_odd {
    NB_ODD_RESEND = 1 << 0,    /* a RESEND that overruns its packet */
    NB_ODD_RESERVED = 1 << 1,  /* reserved bits */
    NB_ODD_STRING = 1 << 2,    /* a missing or unterminated string */
    NB_ODD_DATA = 1 << 3,      /* data that were not requested */
    NB_ODD_CONTROL = 1 << 4,   /* an OK or DONE that cannot be */
    NB_ODD_DIRECTION = 1 << 5, /* of the other role, or of an opening that is over */
    NB_ODD_KEEPALIVE = 1 << 6,
};

void nb_robust_register(void);

/* Takes the anomalies of the peer that this packet answers. */
void nb_robust_packet(const struct nb_event *event);

/* This packet is one that the peer has to tolerate. */
void nb_robust_odd(const struct nb_event *event, enum nb_odd odd);

#endif
