/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a packet of the sender acknowledges, beside what was acknowledged before it: rules need both. */
#ifndef NETBLT_RULE_ACKNOWLEDGEMENT_H
#define NETBLT_RULE_ACKNOWLEDGEMENT_H

#include "connection/event.h"

struct nb_ack {
    int64_t now;    /* high-seq of this packet, unwrapped */
    int64_t before; /* the highest that was captured before it */
};

#endif
